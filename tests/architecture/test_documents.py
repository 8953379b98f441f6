"""What the documents say is there."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.architecture import source

DOCUMENTS = sorted(
    [*source.ROOT.glob("*.md"), *source.ROOT.glob("docs/**/*.md"), *source.ROOT.glob("changelog.d/*.md")]
)
KINDS = {"added", "changed", "removed", "fixed", "security"}


@pytest.mark.parametrize("path", DOCUMENTS, ids=source.shown)
def test_links_to_our_own_files_lead_somewhere(path: Path) -> None:
    links = re.findall(r"\]\((?!https?:|mailto:|#)([^)#\s]+)", path.read_text())
    assert [link for link in links if not (path.parent / link).exists()] == []


def test_make_targets_that_contributors_are_told_of_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (source.ROOT / "Makefile").read_text(), re.MULTILINE))
    told = set(re.findall(r"\bmake ([a-z][a-z-]+)(?=`|\s{2,}#)", (source.ROOT / "CONTRIBUTING.md").read_text()))
    assert len(told) > 4
    assert told - targets == set()


def test_changelog_fragments_have_a_known_kind_and_one_sentence() -> None:
    fragments = [path for path in (source.ROOT / "changelog.d").glob("*.md") if path.name != "README.md"]
    for path in fragments:
        assert path.name.split(".")[-2] in KINDS, path.name
        assert len(path.read_text().strip().splitlines()) == 1, path.name


@pytest.mark.parametrize("script", ["bin/archivebox", "bin/environment", "bin/test", "bin/with-postgres"])
def test_scripts_of_the_checkout_are_plain_sh(script: str) -> None:
    path = source.ROOT / script
    assert path.read_text().startswith("#!/bin/sh\n")
    assert path.stat().st_mode & 0o111
    assert subprocess.run(["sh", "-n", path], check=False).returncode == 0
