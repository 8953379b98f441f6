"""Debian packages."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from typing import TYPE_CHECKING

import psutil
import pytest

if TYPE_CHECKING:
    from tests.plugins_bundled.providers.conftest import Provider

debian = pytest.mark.skipif(shutil.which("apt-get") is None, reason="this machine has no apt-get")
root = pytest.mark.skipif(os.geteuid() != 0, reason="installing with apt needs root")
PACKAGE = "dos2unix"  # BSD-2-Clause, 350 KB, no dependencies
REMOVE = ("apt-get", "remove", "--yes", "-oDPkg::Lock::Timeout=200")  # others may be installing


@pytest.fixture
def absent_package() -> Iterator[str]:
    """A small package, absent before; taken away again only if it was."""
    if shutil.which(PACKAGE) is not None:
        subprocess.run([*REMOVE, PACKAGE], check=True, capture_output=True)
        yield PACKAGE
        return
    yield PACKAGE
    subprocess.run([*REMOVE, PACKAGE], check=True, capture_output=True)


@debian
@root
def test_a_package_is_installed_without_a_question(providers: "Provider", absent_package: str) -> None:
    overrides: dict[str, object] = {"apt": {"packages": [absent_package]}}

    answer = providers.ask("apt", "unix2dos", overrides=overrides)

    assert answer.binary["abspath"] == "/usr/bin/unix2dos"
    assert answer.binary["binprovider"] == "apt"
    assert str(answer.binary["version"])[0].isdigit()
    installs = [record["cmd"] for record in answer.records if "--no-download" in str(record.get("cmd"))]
    assert installs
    assert "DEBIAN_FRONTEND=noninteractive" in str(installs[0])


@debian
def test_a_package_that_is_there_needs_no_root(providers: "Provider") -> None:
    answer = providers.ask("apt", "dpkg")

    assert answer.binary["abspath"] == shutil.which("dpkg")
    assert not any("--configure" in str(record.get("cmd")) for record in answer.records)


@debian
@pytest.mark.skipif(os.geteuid() == 0, reason="root needs no line to type")
def test_without_root_the_line_to_type_is_the_whole_sentence(providers: "Provider") -> None:
    providers.place("sudo", "exit 1")
    path = f"{providers.folder}:{os.environ['PATH']}"

    answer = providers.ask("apt", "no-such-package", environ={"PATH": path})

    assert (answer.code, answer.binaries) == (1, [])
    assert answer.stderr.splitlines()[-1] == "sudo apt-get install --yes no-such-package"


@debian
@root
def test_an_unknown_package_is_a_sentence_and_no_record(providers: "Provider") -> None:
    answer = providers.ask("apt", "no-such-package-of-ours")

    assert (answer.code, answer.binaries) == (1, [])
    assert "Unable to locate package no-such-package-of-ours" in answer.stderr.splitlines()[-1]


def test_elsewhere_apt_says_that_it_is_not_there(providers: "Provider") -> None:
    answer = providers.ask("apt", "wget", environ={"PATH": "/nowhere"})

    assert (answer.code, answer.records) == (1, [])
    assert "this machine has no apt-get" in answer.stderr


@debian
def test_dpkg_is_let_finish_when_the_hook_is_told_to_stop(providers: "Provider") -> None:
    """Real signals, and a real process in the place of dpkg, which must not see them."""
    providers.place("dpkg-query", "exit 1")
    providers.place("apt-get", "exit 0")
    providers.place("sudo", 'shift; [ "$1" = true ] || exec "$@"')
    configure = f"read line < {providers.folder}/go && echo whole > {providers.folder}/done"
    providers.place("dpkg", f'[ "$1" = --configure ] || exit 0\n{configure}')
    os.mkfifo(providers.folder / "go")
    process = providers.start("apt", "anything", environ={"PATH": f"{providers.folder}:{os.environ['PATH']}"})
    with (providers.folder / "go").open("w") as gate:  # returns once "dpkg" reads
        process.terminate()
        for pid in tree_of(process.pid):
            os.kill(pid, signal.SIGTERM)
        gate.write("on\n")
    process.communicate(timeout=60)

    assert (providers.folder / "done").read_text() == "whole\n"


def tree_of(pid: int) -> list[int]:
    return [child.pid for child in psutil.Process(pid).children(recursive=True)]
