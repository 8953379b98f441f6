"""Rewrites the one document that it is sent, within limits: see :mod:`archivebox.replay.rewriting.document`."""

import sys

from archivebox.lib.htmltrial import TangledError
from archivebox.lib.limited import limit
from archivebox.replay.rewriting.document import Document

MEMORY, MEMORY_PER_BYTE, MEMORY_MOST = 256 * 1024 * 1024, 80, 1536 * 1024 * 1024
"""Bytes of address space; a document of short elements takes 50 times its size."""
SECONDS, SECONDS_PER_MEGABYTE = 5, 3
"""Of the processor; 5 MB with few links take 0.4."""


def main() -> int:
    """0: rewritten; 1: it cannot be."""
    document = Document.from_json(sys.stdin.buffer.readline())
    data = sys.stdin.buffer.read()
    limit(min(MEMORY + MEMORY_PER_BYTE * len(data), MEMORY_MOST), SECONDS + SECONDS_PER_MEGABYTE * len(data) // 2**20)
    try:
        sys.stdout.buffer.write(document.rewrite(data))
    except (TangledError, MemoryError):
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
