"""What `make names`, a part of `make check`, finds: names that are not unique, plain and short."""

import ast
import subprocess
from pathlib import Path

import pytest

from tests.architecture import names


def test_a_class_name_that_occurs_twice_is_found() -> None:
    trees = [ast.parse("class Line: ..."), ast.parse("class Other:\n    class Meta: ...\n    class Line: ...")]
    (finding,) = names.duplicate_classes(trees, {})
    assert finding.startswith("Line: 2 classes")
    assert names.duplicate_classes(trees, {"Line": "why"}) == []


@pytest.mark.parametrize("depth", ["1", "9"])
def test_long_subjects_are_found_in_shallow_clones_too(tmp_path: Path, depth: str) -> None:
    def git(*words: str) -> str:
        command = ["git", "-C", str(tmp_path / "whole"), "-c", "user.name=a", "-c", "user.email=a@b", *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    (tmp_path / "whole").mkdir()
    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "x" * 90)
    before = git("rev-parse", "HEAD")
    git("commit", "-q", "--allow-empty", "-m", "y" * 73)
    origin = f"file://{tmp_path / 'whole'}"
    subprocess.run(["git", "clone", "-q", "--depth", depth, origin, tmp_path / "clone"], check=True)
    assert names.long_subjects(tmp_path / "clone", before, "2020-01-01T00:00:00Z") == ["y" * 73]
    assert names.long_subjects(tmp_path, before, "2020-01-01T00:00:00Z") == []
