#!/usr/bin/env python3
"""Hashes every file of the snapshot, says which hooks wrote it, and makes the hash tree (see base/hash_tree.py)."""

import json
from pathlib import Path

from writers import RUNS, writers

from archivebox.plugins.base import Settings, log, set_deadline, succeeded, write_atomically
from archivebox.plugins.base.hash_tree import build_manifest

OUTPUT = "hashes.json"
STAMPS = "timestamp"  # the plugin that has these hashes stamped
SIGNED = Path("signature.json")  # made by whoever seals the page; without it, the next seal signs


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


if __name__ == "__main__":
    main()
