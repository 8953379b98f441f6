"""100 snapshots of 20 no-op hooks with every row recorded, against ``xargs -P<cores>`` over the same files.

The floor starts 2,000 processes as fast as the machine can and keeps nothing; what lies between is all that the engine
does for a hook: its row, its result, its folder and logs, its exit status, the order of steps.
"""

import itertools
import subprocess
import sys
from typing import NamedTuple

from benchmarks import trees
from benchmarks.finding import Bound, Finding, interleaved
from benchmarks.room import CORES, room, write_plugin

SNAPSHOTS, HOOKS = 100, 20
BASH = """#!/bin/bash
echo '{"type": "ArchiveResult", "status": "succeeded", "output_str": "nothing"}'
"""
PYTHON = """#!/usr/bin/env python3
import argparse
import json
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("--url", default="")
parser.parse_known_args()
Path.cwd()
print(json.dumps({"type": "ArchiveResult", "status": "succeeded", "output_str": "nothing"}))
"""


def bash(rounds: int) -> list[Finding]:
    return measure(Kind("bash hooks", BASH, "sh", "/bin/bash", 1.3), rounds)


def cold(rounds: int) -> list[Finding]:
    return measure(Kind("cold Python hooks", PYTHON, "py", sys.executable, 1.1), rounds)


def forked(rounds: int) -> list[Finding]:
    return measure(Kind("forked Python hooks", PYTHON, "py", sys.executable, 0.35), rounds)


class Kind(NamedTuple):
    """One kind of hook, and how many times the floor it may take."""

    name: str
    script: str
    extension: str
    interpreter: str
    bound: float


def measure(kind: Kind, rounds: int) -> list[Finding]:
    names = [f"on_Snapshot__{number:02}_nothing.{kind.extension}" for number in range(0, 100, 100 // HOOKS)]
    files = "\n".join(map(str, write_plugin("nothing", dict.fromkeys(names, kind.script)) * SNAPSHOTS))
    finding = Finding(f"engine, {kind.name}", "s", Bound.RATIO, kind.bound, [], floor_name=f"xargs -P{CORES}")
    own: list[float] = []
    fresh = itertools.count()

    def floor() -> None:
        command = ["xargs", f"-P{CORES}", "-n1", kind.interpreter]
        seconds, used = trees.timed(
            lambda: subprocess.run(command, input=files, text=True, stdout=subprocess.DEVNULL, check=True)
        )
        finding.floor.append(seconds)
        finding.floor_cpu.append(used)

    with room(["nothing"]) as engine:

        def ours() -> None:
            batch = next(fresh)
            seconds, used = engine.run([f"https://host{n}.example/{batch}" for n in range(SNAPSHOTS)])
            finding.ours.append(seconds)
            finding.ours_cpu.append(used.whole)
            own.append(used.own)

        interleaved(rounds, floor, ours)
    hooks = SNAPSHOTS * HOOKS
    finding.notes = {
        "own CPU per hook (ms)": min(own) / hooks * 1000,
        "ms per hook": min(finding.ours) / hooks * 1000,
        "hooks/s": hooks / min(finding.ours),
    }
    return [finding]
