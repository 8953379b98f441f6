#!/usr/bin/env python3
"""Hashes every file of the snapshot, says which hooks wrote it, and makes the hash tree (see base/hash_tree.py)."""

import json
import shlex
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from archivebox.plugins.base import Settings, log, set_deadline, succeeded, write_atomically
from archivebox.plugins.base.hash_tree import build_manifest

OUTPUT = "hashes.json"
STAMPS = "timestamp"  # the plugin that has these hashes stamped
SIGNED = Path("signature.json")  # made by whoever seals the page; without it, the next seal signs

RUNS = ".hooks"  # beside the plugins' folders: <hook>.<process id>.cmd.sh, whose second line is `cd <folder>`
PACKED = "runs.jsonl"  # in it: of runs before an earlier seal, `{"run": "<hook>.<process id>", "cmd.sh": …}`
COMMAND = ".cmd.sh"
LARGEST = 1 << 20  # bytes of a command line


def main() -> None:
    set_deadline(Settings().timeout("HASHES"))
    folder = Path("..").resolve()
    manifest = build_manifest(
        folder,
        excluded=(RUNS, Path.cwd().name, STAMPS),  # written while we read, or of what we write
        on_vanished=lambda path: log(f"{path} went away while the folder was read"),
        programs=writers(folder),
    )
    SIGNED.unlink(missing_ok=True)  # it speaks of the hashes before
    write_atomically(OUTPUT, json.dumps(manifest, indent=1) + "\n")
    size = sum(entry["size"] for entry in manifest["files"].values())
    facts = {"root_hash": manifest["root_hash"], "files": len(manifest["files"]), "bytes": size}
    succeeded(OUTPUT, facts)


def writers(snapshot: Path) -> dict[str, list[str]]:
    """Plugin → its hooks that ran for this Snapshot, as `plugin/file name`.

    A plugin's folder is written by its own hooks alone; which of several wrote a file is not on record.
    """
    found: dict[str, list[str]] = {}
    for plugin, hook in sorted(set(_runs(snapshot))):
        found.setdefault(plugin, []).append(f"{plugin}/{hook}")
    return found


def _runs(snapshot: Path) -> Iterator[tuple[str, str]]:
    for run, command in _commands(snapshot / RUNS):
        folder = command.partition("\n")[2].partition("\n")[0]
        change, _, word = folder.strip().partition(" ")
        if change == "cd" and word:
            # Written by shlex.quote; its parser takes 0.2 ms a line, and there are forty.
            name = shlex.split(word)[0] if "'" in word else word
            yield Path(name).name, run.rpartition(".")[0]


def _commands(folder: Path) -> Iterator[tuple[str, str]]:
    for path in folder.glob(f"*{COMMAND}"):
        with path.open(encoding="utf-8", errors="surrogateescape") as file:
            yield path.name.removesuffix(COMMAND), file.read(LARGEST)
    with suppress(FileNotFoundError), (folder / PACKED).open(encoding="utf-8") as file:
        for line in file:
            run = json.loads(line)
            yield run["run"], run.get("cmd.sh", "")


if __name__ == "__main__":
    main()
