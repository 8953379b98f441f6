"""Parses what it is sent, within limits, and says that it could: the process of :mod:`archivebox.lib.html_probe`."""

import resource
import signal
import struct
import sys
from contextlib import suppress

from selectolax.lexbor import LexborHTMLParser, SelectolaxError

MEMORY, MEMORY_PER_BYTE = 384 * 1024 * 1024, 40
"""Bytes of address space; a document of short elements takes 32 times its size."""
SECONDS, SECONDS_PER_BYTE = 0.5, 1 / (8 * 1024 * 1024)
"""Of the processor, however busy the machine is; 32 MB take 0.8."""
LENGTH = struct.Struct("!Q")


def main() -> None:
    """Until nobody asks any more. SIGPROF, which nobody catches, ends it at the end of its time."""
    while header := sys.stdin.buffer.read(LENGTH.size):
        (length,) = LENGTH.unpack(header)
        sys.stdout.buffer.write(b"1" if can_be_read(sys.stdin.buffer.read(length)) else b"0")
        sys.stdout.buffer.flush()


def can_be_read(document: bytes) -> bool:
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    with suppress(ValueError, OSError):  # macOS takes no such limit; that of time holds there
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY + MEMORY_PER_BYTE * len(document), most))
    signal.setitimer(signal.ITIMER_PROF, SECONDS + SECONDS_PER_BYTE * len(document))
    try:
        LexborHTMLParser(document)
    except (SelectolaxError, MemoryError):
        return False
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return True


if __name__ == "__main__":
    main()
