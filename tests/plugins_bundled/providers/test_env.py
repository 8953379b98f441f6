"""Programs that are already there."""

import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.plugins_bundled.providers.conftest import Provider


def test_a_program_on_the_path_is_found_with_version_and_hash(providers: "Provider") -> None:
    path = shutil.which("wget")
    assert path is not None

    record = providers.ask("env", "wget").binary

    assert record["name"] == "wget"
    assert record["abspath"] == path
    assert record["binprovider"] == "env"
    assert str(record["version"]).count(".") >= 1
    assert record["sha256"] == hashlib.sha256(Path(path).read_bytes()).hexdigest()


def test_our_own_links_come_before_the_path(providers: "Provider") -> None:
    providers.lib.joinpath("bin").mkdir(parents=True)
    ours = providers.lib / "bin" / "wget"
    ours.symlink_to(providers.place("wget-of-ours", "echo GNU Wget 9.8.7"))

    record = providers.ask("env", "wget").binary

    assert (record["abspath"], record["version"]) == (str(ours), "9.8.7")
    real = providers.folder / "wget-of-ours"
    assert record["sha256"] == hashlib.sha256(real.read_bytes()).hexdigest()


def test_names_of_the_override_are_tried_in_order(providers: "Provider") -> None:
    overrides: dict[str, object] = {"env": {"names": ["no-such-browser", "git"]}, "apt": {"packages": ["x"]}}

    record = providers.ask("env", "browser", overrides=overrides, binproviders="env,apt").binary

    assert (record["name"], record["abspath"]) == ("browser", shutil.which("git"))


def test_an_absolute_path_is_a_name(providers: "Provider") -> None:
    tool = providers.place("tool", '[ "$1" = -V ] && echo tool 3.4')

    record = providers.ask("env", str(tool)).binary

    assert (record["abspath"], record["version"]) == (str(tool), "3.4")


def test_a_program_that_cannot_be_started_is_passed_over(providers: "Provider", tmp_path: Path) -> None:
    broken = tmp_path / "first"
    broken.mkdir()
    (broken / "tool").write_text("#!/no/such/interpreter\n")
    (broken / "tool").chmod(0o755)
    works = providers.place("tool", "echo tool 1.2")
    path = f"{broken}:{providers.folder}:{os.environ['PATH']}"

    answer = providers.ask("env", "tool", environ={"PATH": path})

    assert answer.binary["abspath"] == str(works)
    assert "cannot be started" in answer.stderr


def test_a_program_without_a_version_is_found_all_the_same(providers: "Provider") -> None:
    tool = providers.place("mute", "exit 3")

    record = providers.ask("env", str(tool)).binary

    assert record["version"] == ""


def test_a_missing_program_is_a_sentence_and_no_record(providers: "Provider") -> None:
    answer = providers.ask("env", "no-such-program")

    assert (answer.code, answer.records) == (1, [])
    assert "No no-such-program that runs" in answer.stderr


@pytest.mark.parametrize("provider", ["env", "apt", "pip", "npm", "brew", "custom"])
def test_a_provider_that_is_not_named_says_nothing(providers: "Provider", provider: str) -> None:
    answer = providers.ask(provider, "wget", binproviders="another,third")

    assert (answer.code, answer.records, answer.stderr) == (0, [], "")
    assert not providers.lib.exists()


def test_no_list_of_providers_means_any(providers: "Provider") -> None:
    assert providers.ask("env", "git", binproviders="").binary["binprovider"] == "env"
    assert providers.ask("env", "git", binproviders="*").binary["binprovider"] == "env"


def test_a_hash_is_remembered_until_the_file_changes(providers: "Provider") -> None:
    tool = providers.place("tool", "echo tool 1.0")
    first = providers.ask("env", str(tool)).binary["sha256"]
    remembered = json.loads((providers.lib / "hashes.json").read_bytes())
    assert remembered[str(tool)][2] == first

    tool.write_text("#!/bin/sh\necho tool 2.0.0\n")
    second = providers.ask("env", str(tool)).binary

    assert second["version"] == "2.0.0"
    assert second["sha256"] == hashlib.sha256(tool.read_bytes()).hexdigest() != first


def test_a_damaged_memory_of_hashes_is_made_anew(providers: "Provider") -> None:
    providers.lib.mkdir()
    (providers.lib / "hashes.json").write_text('{"half": [1,')
    tool = providers.place("tool", "echo tool 1.0")

    assert providers.ask("env", str(tool)).binary["sha256"] == hashlib.sha256(tool.read_bytes()).hexdigest()
    assert list(json.loads((providers.lib / "hashes.json").read_bytes())) == [str(tool)]
