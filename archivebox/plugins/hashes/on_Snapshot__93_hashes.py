#!/usr/bin/env python3
"""Hashes every file of the snapshot and writes the hash tree over them (construction: merkle.py)."""

import json
from pathlib import Path

from merkle import build_manifest

from archivebox.plugins.base import Settings, give_up_after, log, succeeded, write_atomically

OUTPUT = "hashes.json"
HOOK_LOGS = ".hooks"  # the engine writes there while we read


def main() -> None:
    give_up_after(Settings().timeout("HASHES"))
    folder = Path("..").resolve()
    manifest = build_manifest(
        folder,
        excluded=(HOOK_LOGS, Path.cwd().name),
        on_vanished=lambda path: log(f"{path} went away while the folder was read"),
    )
    write_atomically(OUTPUT, json.dumps(manifest, indent=1) + "\n")
    size = sum(entry["size"] for entry in manifest["files"].values())
    facts = {"root_hash": manifest["root_hash"], "files": len(manifest["files"]), "bytes": size}
    succeeded(OUTPUT, facts)


if __name__ == "__main__":
    main()
