"""What ``archivebox server`` with two workers costs while nobody asks for anything.

CPU of all its processes (web server, supervisord, orchestrator, workers, fork servers) by the scheduler's clock over a
minute a round, and their memory, shared pages counted in equal parts to those who share them.
"""

import time

from benchmarks import trees
from benchmarks.commands import collection
from benchmarks.finding import Bound, Finding
from benchmarks.serving import serving

WORKERS = 2
SETTLED = 15.0
"""Seconds after the first answer, in which the last imports are done and nothing is left to be swept."""
WINDOW = 60.0
PROGRAMS = 4 + WORKERS
"""The least number of processes: the command, supervisord, web server, orchestrator, and its workers."""


def run(rounds: int) -> list[Finding]:
    share = Finding("idle server, CPU share of a core", "%", Bound.MOST, 0.2, [])
    memory = Finding("idle server, proportional set size", "MB", Bound.MOST, 250, [])
    with collection() as data, serving(data, WORKERS=str(WORKERS)) as server:
        time.sleep(SETTLED)
        for _ in range(rounds):
            share.ours.append(measure_share(server.root))
            memory.ours.append(trees.proportional_set_size(server.root))
        share.notes = {"processes": str(len(list(trees.members(server.root))))}
    return [share, memory]


def measure_share(root: int) -> float:
    """Percent of one core over a window; LookupError if processes came or went, whose time would be lost."""
    before, start, pids = trees.scheduled(root), time.monotonic(), set(trees.members(root))
    time.sleep(WINDOW)
    used, seconds = trees.scheduled(root) - before, time.monotonic() - start
    if len(pids) < PROGRAMS or pids != set(trees.members(root)):
        raise LookupError("the server's processes are not all there, or changed while it was idle")
    return 100 * used / seconds
