"""Writes the files of pages that it is sent: the process of :mod:`archivebox.imports.writing_pool`."""

import json
import os
import sys
from pathlib import Path

from archivebox.imports.page_files import PageFilesWriter, PlannedFiles
from archivebox.imports.transfer import Transfer
from archivebox.lib.jsonl import JSON


def main() -> None:
    """Until nobody asks any more, or who has started it is dead: that is looked at before each block of a file."""
    arguments = json.loads(sys.argv[1])
    parent = arguments["parent"]

    def stop() -> None:
        if os.getppid() != parent:
            os._exit(1)

    writer = PageFilesWriter(Path(arguments["keys"]), Transfer(arguments["transfer"]), stop)
    while line := sys.stdin.buffer.readline():
        sys.stdout.buffer.write(json.dumps(_answer(writer, json.loads(line))).encode() + b"\n")
        sys.stdout.buffer.flush()


def _answer(writer: PageFilesWriter, asked: dict[str, list[list[JSON]]]) -> dict[str, object]:
    try:
        if "write" in asked:
            return {"done": [writer.write(PlannedFiles(*page)) for page in asked["write"]]}  # type: ignore[arg-type]  # as it was sent
        return {"done": [writer.differences(*page) for page in asked["compare"]]}  # type: ignore[arg-type]  # as above
    except OSError as error:
        return {"error": (error.errno, error.strerror, error.filename)}


if __name__ == "__main__":
    main()
