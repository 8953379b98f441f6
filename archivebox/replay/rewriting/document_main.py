"""Rewrites one document within limits, from the file in which it lies into one of ours.

It is told on its stdin, in JSON: see :mod:`archivebox.replay.rewritten`.
"""

import json
import math
import os
import sys
from pathlib import Path

from archivebox.lib import html_probe
from archivebox.lib.module_process import limit
from archivebox.replay.index import Location, opened
from archivebox.replay.rewriting.document import LARGEST_TEXT, Document
from archivebox.replay.rewriting.template import RewrittenTemplate

MEMORY = 1024 * 1024 * 1024
"""Bytes of address space. A page of 20 MB of prose takes a fourth of it."""
SECONDS, SECONDS_PER_MEGABYTE = 2, 0.4
"""Of the processor: ten for 20 MB; prose of that length takes one."""


def main() -> int:
    """0: it is written; 1: it cannot be."""
    asked = json.loads(sys.stdin.buffer.read())
    document = Document.from_json(asked["document"])
    limit(MEMORY, math.ceil(SECONDS + SECONDS_PER_MEGABYTE * asked["size"] / 2**20))
    html_probe.disable_probe()  # this process is itself one that can be ended
    try:
        with os.fdopen(asked["output"], "wb") as output:
            RewrittenTemplate(document).write(_read(asked), output)
    except (MemoryError, OSError):
        return 1
    return 0


def _read(asked: "dict[str, object]") -> bytes:
    size = min(int(str(asked["size"])), LARGEST_TEXT)
    record = asked["record"]
    if not isinstance(record, dict):
        return os.pread(int(str(asked["descriptor"])), size, 0)
    with opened(Path(str(asked["folder"])), Location(**record)) as (_, block):
        return block.read(size)


if __name__ == "__main__":
    sys.exit(main())
