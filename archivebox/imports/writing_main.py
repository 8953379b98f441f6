"""Writes the files of pages that it is sent: the process of :mod:`archivebox.imports.writing_pool`."""

import gc
import json
import os
import pickle
import sys
from pathlib import Path
from typing import Any, BinaryIO

from archivebox.imports.page_files import PageFilesWriter
from archivebox.imports.transfer import Transfer


def main() -> None:
    """Until nobody asks any more, or who has started it is dead: that is looked at before each block of a file."""
    arguments = json.loads(sys.argv[1])
    parent = arguments["parent"]

    def stop() -> None:
        if os.getppid() != parent:
            os._exit(1)

    gc.freeze()  # what is loaded stays
    writer = PageFilesWriter(Path(arguments["keys"]), Transfer(arguments["transfer"]), stop)
    while request := _read(sys.stdin.buffer):
        sys.stdout.buffer.write(pickle.dumps(_answer(writer, *request)))
        sys.stdout.buffer.flush()


def _read(requests: BinaryIO) -> tuple[str, list[Any]] | None:
    """The next one; None: nobody asks any more."""
    try:
        return pickle.load(requests)  # type: ignore[no-any-return]  # noqa: S301 - who sends it has started us
    except (EOFError, pickle.UnpicklingError):
        return None


def _answer(writer: PageFilesWriter, name: str, pages: list[Any]) -> list[Any] | OSError:
    try:
        return [writer.write(page) if name == "write" else writer.differences(*page) for page in pages]
    except OSError as error:
        return error


if __name__ == "__main__":
    main()
