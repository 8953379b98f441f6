"""What live trees of processes have used: CPU seconds and memory, from proc(5)."""

import os
import resource
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Used:
    """CPU seconds of a tree: of its living members, and of all they have reaped."""

    own: float
    reaped: float

    @property
    def whole(self) -> float:
        return self.own + self.reaped

    def since(self, before: "Used") -> "Used":
        return Used(self.own - before.own, self.reaped - before.reaped)


def members(root: int) -> Iterator[int]:
    """The process and all its living descendants."""
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        yield pid
        with suppress(OSError):
            for thread in Path(f"/proc/{pid}/task").iterdir():
                waiting += map(int, (thread / "children").read_text().split())


def name(pid: int) -> str:
    """The name of its program; empty where it has gone."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def cpu(root: int) -> Used:
    """What the tree of ``root`` has used until now."""
    own = reaped = 0
    for pid in members(root):
        with suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            own += int(fields[11]) + int(fields[12])
            reaped += int(fields[13]) + int(fields[14])
    return Used(own / TICK, reaped / TICK)


def own(pid: int) -> float:
    """CPU seconds of one process, its children not counted; 0 where it has gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / TICK


def scheduled(root: int) -> float:
    """CPU seconds of the living tree, to the nanosecond: an idle process is told apart from one that does little."""
    total = 0
    for pid in members(root):
        with suppress(OSError):
            for thread in Path(f"/proc/{pid}/task").iterdir():
                total += int((thread / "schedstat").read_text().split()[0])
    return total / 1e9


def proportional_set_size(root: int) -> float:
    """MB of memory of the tree, shared pages counted in equal parts to those who share them."""
    kilobytes = 0
    for pid in members(root):
        with suppress(OSError):
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
            kilobytes += sum(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))
    return kilobytes * 1024 / 1e6


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds of wall clock and of CPU of ``work``, which starts processes and waits for them."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    work()
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
