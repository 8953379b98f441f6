"""Hooks whose Python is that of an environment of its own."""

from __future__ import annotations

import pytest

from tests.integration.engine.driver import Collection

pytestmark = [pytest.mark.database, pytest.mark.once]

PIP = """
import json, pathlib, subprocess, sys
folder = pathlib.Path({folder!r})
subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
packages = next(folder.glob("lib/python3*/site-packages"))
(packages / "heavy.py").write_text("WEIGHT = 7\\n")
name = next(word for word in sys.argv if word.startswith("--name=")).partition("=")[2]
print(json.dumps({{"type": "Binary", "name": name, "abspath": str(folder / "bin" / "python"), "version": "1"}}))
"""
READS = """
import os, sys, time
warm = "heavy" in sys.modules
import heavy
from archivebox.plugins.base import succeeded
with open(os.environ["DATA_DIR"] + "/ledger", "a") as ledger:
    ledger.write(f"{heavy.WEIGHT} {'warm' if warm else 'cold'} {sys.prefix}\\n")
time.sleep(0.3)
succeeded("read")
"""
READER = "on_Snapshot__59_reads.py"


def reads(made: Collection, **declared: object) -> str:
    """A plugin with an environment of its own; where that lies."""
    folder = str(made.base / "environment")
    made.plugin("pip", {"on_Binary__30_install_using_pip_provider.py": PIP.format(folder=folder)})
    config = {"x-hooks": {READER: {"derived": True, **declared}}}
    made.plugin("reads", {READER: READS, "requirements.txt": "heavy\n"}, config=config)
    return folder


def test_what_an_environment_preloads_is_imported_once_for_many_pages(forked: Collection) -> None:
    folder = reads(forked, preload=["heavy", "archivebox.plugins.base"], exclusive=["reading"])
    forked.run(forked.add(*(f"http://{number}.test/" for number in range(8))))
    assert len(forked.ledger) == 8
    assert {(line.split()[0], line.split()[2]) for line in forked.ledger} == {("7", folder)}
    assert forked.ledger[0].split()[1] == "cold"
    assert forked.ledger[-1].split()[1] == ("warm" if forked.mode == "forked" else "cold")
    commands = [row["cmd"][0] for row in forked.processes(worker_type="forkserver", status="exited")]
    assert commands.count(f"{folder}/bin/python") == (forked.mode == "forked")
    assert {row["status"] for row in forked.results().values()} == {"succeeded"}


def test_without_a_word_each_start_of_an_environment_is_its_own(forked: Collection) -> None:
    reads(forked)
    forked.run(forked.add(*(f"http://{number}.test/" for number in range(4))))
    assert [line.split()[1] for line in forked.ledger] == ["cold"] * 4


def test_an_environment_that_preloads_what_it_lacks_works_all_the_same(forked: Collection) -> None:
    reads(forked, preload=["lighter"], exclusive=["reading"])
    forked.run(forked.add(*(f"http://{number}.test/" for number in range(5))))
    assert [line.split()[1] for line in forked.ledger] == ["cold"] * 5
    assert {row["status"] for row in forked.results().values()} == {"succeeded"}
