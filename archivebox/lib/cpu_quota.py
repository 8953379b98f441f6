"""Owns how much processor time the control groups of this process allow: the quota of a container or a service."""

from functools import lru_cache

CGROUPS = "/sys/fs/cgroup"
MEMBERSHIP = "/proc/self/cgroup"
"""A line for each hierarchy, `number:controllers:path`; of version 2 `0::path` (cgroups(7))."""


@lru_cache(maxsize=1)
def limiting_group() -> tuple[str, float] | None:
    """Return the folder of the group with the smallest quota, and its processors; None where nothing is limited.

    Of the group that this process is in and those above it. Asked once: a quota rarely changes.
    """
    groups = [(folder, quota) for folder in _folders() if (quota := _quota(folder)) is not None]
    return min(groups, key=lambda group: group[1], default=None)


def reached_quota() -> float | None:
    """Return the quota in processors, if the group has ever been held back by it; None else.

    A quota that was never reached slows nothing down, whatever else the machine does.
    """
    group = limiting_group()
    return group[1] if group is not None and _throttled(group[0]) else None


def _folders() -> list[str]:
    """The folders that may have a quota for this process, by both versions; the path of one is as its mount shows it.

    In a container the path may be that of the host, below which nothing is mounted: then the mount itself is the group.
    """
    folders: list[str] = []
    for line in _lines(MEMBERSHIP):
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers == "":
            mounts = [CGROUPS, f"{CGROUPS}/unified"]
        elif "cpu" in controllers.split(","):
            mounts = [f"{CGROUPS}/{controllers}", f"{CGROUPS}/cpu"]
        else:
            continue
        for mount in mounts:
            names = [name for name in path.split("/") if name]
            folders += ["/".join([mount, *names[:count]]) for count in range(len(names), -1, -1)]
    return folders


def _quota(folder: str) -> float | None:
    """Processors that a group may use; None where it has no limit, or there is no such group."""
    limit = _words(f"{folder}/cpu.max")  # "quota period" or "max period", in microseconds
    if len(limit) != 2:
        limit = _words(f"{folder}/cpu.cfs_quota_us") + _words(f"{folder}/cpu.cfs_period_us")  # version 1; -1: no limit
    try:
        quota, period = map(int, limit)
    except ValueError:  # "max", or not two numbers
        return None
    return quota / period if quota > 0 and period > 0 else None


def _throttled(folder: str) -> int:
    """How many periods ended with the group held back."""
    counts = dict(line.split(" ", 1) for line in _lines(f"{folder}/cpu.stat") if " " in line)
    return int(counts.get("nr_throttled", "0"))


def _words(path: str) -> list[str]:
    return " ".join(_lines(path)).split()


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="ascii") as file:  # noqa: PTH123  (pathlib costs half of a hook's start)
            return file.read().splitlines()
    except (OSError, UnicodeDecodeError):
        return []
