"""Homebrew, and commands that plugins bring."""

import os
import shutil
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.plugins_bundled.providers.conftest import Provider

brew = pytest.mark.skipif(shutil.which("brew") is None, reason="brew is not on this machine")


@brew
@pytest.mark.skipif(os.geteuid() == 0, reason="Homebrew refuses root")
@pytest.mark.slow
def test_brew_installs_a_formula(providers: "Provider") -> None:
    assert providers.ask("brew", "jq").binary["binprovider"] == "brew"


@pytest.mark.skipif(shutil.which("brew") is not None, reason="brew is on this machine")
def test_without_brew_the_hook_says_so(providers: "Provider") -> None:
    answer = providers.ask("brew", "jq", overrides={"brew": {"formula": "jq"}})

    assert (answer.code, answer.records) == (1, [])
    assert "Homebrew, which is not on this machine" in answer.stderr


def installer(lib: Path) -> list[str]:
    script = f'mkdir -p {lib}/bin && printf "#!/bin/sh\\necho tool 4.5.6" > {lib}/bin/tool && chmod 755 {lib}/bin/tool'
    return ["sh", "-c", script]


def test_a_command_of_the_plugin_installs_the_program(providers: "Provider") -> None:
    answer = providers.ask("custom", "tool", overrides={"custom": {"install": installer(providers.lib)}})

    assert (answer.binary["abspath"], answer.binary["version"]) == (str(providers.lib / "bin" / "tool"), "4.5.6")
    assert stat.S_IMODE((providers.lib / "bin" / "tool").stat().st_mode) == 0o755
    ended = [record for record in answer.records if record["type"] == "Process" and "exit_code" in record]
    assert [record["exit_code"] for record in ended] == [0, 0], "the installer and the question for the version"


def test_a_command_that_fails_is_a_sentence_and_no_record(providers: "Provider") -> None:
    answer = providers.ask("custom", "tool", overrides={"custom": {"install": ["sh", "-c", "exit 7"]}})

    assert (answer.code, answer.binaries) == (1, [])
    assert "sh ended with status 7" in answer.stderr


def test_a_command_that_brings_nothing_is_said(providers: "Provider") -> None:
    answer = providers.ask("custom", "tool-of-nowhere", overrides={"custom": {"install": ["true"]}})

    assert (answer.code, answer.binaries) == (1, [])
    assert "still not there" in answer.stderr


@pytest.mark.parametrize(
    ("overrides", "sentence"),
    [
        ({}, "No command is known"),
        ({"custom": {"install": "sh -c x"}}, "has to be a list of words"),
        ({"custom": {"install": ["no-such-installer"]}}, "no-such-installer, which is to install tool, is not there"),
        ({"custom": {"install": ["true"], "names": ["-rf"]}}, "holds what is not a name"),
        ({"custom": ["true"]}, "is not a JSON object"),
    ],
)
def test_overrides_that_make_no_sense_are_refused(
    providers: "Provider", overrides: dict[str, object], sentence: str
) -> None:
    answer = providers.ask("custom", "tool", overrides=overrides)

    assert (answer.code, answer.binaries) == (1, [])
    assert sentence in answer.stderr
