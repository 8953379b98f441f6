"""Finds which hooks wrote into the folder of a plugin, by what the engine keeps of each run."""

import shlex
from collections.abc import Iterator
from pathlib import Path

RUNS = ".hooks"  # beside the plugins' folders: <hook>.<process id>.cmd.sh, whose second line is `cd <folder>`
LARGEST = 1 << 20  # bytes of a command line


def writers(snapshot: Path) -> dict[str, list[str]]:
    """Plugin → its hooks that ran for this Snapshot, as `plugin/file name`.

    A plugin's folder is written by its own hooks alone; which of several wrote a file is not on record.
    """
    found: dict[str, list[str]] = {}
    for plugin, hook in sorted(set(_runs(snapshot))):
        found.setdefault(plugin, []).append(f"{plugin}/{hook}")
    return found


def _runs(snapshot: Path) -> Iterator[tuple[str, str]]:
    for path in (snapshot / RUNS).glob("*.cmd.sh"):
        with path.open(encoding="utf-8", errors="surrogateescape") as file:
            _, folder = file.readline(), file.readline(LARGEST)
        words = shlex.split(folder)
        if words[:1] == ["cd"] and len(words) > 1:
            yield Path(words[1]).name, path.name.rsplit(".", 3)[0]
