"""Owns how much memory a hook takes for what a stranger wrote: 50 KB of HTML can become a tree of 2 GB."""

from __future__ import annotations

import resource
from contextlib import contextmanager, suppress

from archivebox.plugins.base.records import failed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MEMORY, MEMORY_PER_BYTE = 1 << 30, 64  # bytes of address space; Trafilatura holds some trees of 10 times the page


@contextmanager
def within_memory(length: int, *errors: type[Exception]) -> Iterator[None]:
    """Read a document of so many bytes; the hook ends, failed for good, where that takes more than it is worth.

    `errors`: by which a parser says that it got no memory, beside MemoryError.
    """
    none_left: tuple[type[Exception], ...] = (MemoryError, *errors)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    with suppress(ValueError, OSError):  # macOS takes no such limit, and a lower one may be there
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY + MEMORY_PER_BYTE * length, hard))
    try:
        yield
    except none_left:
        failed("reading this page would take too much memory: its elements are nested too deeply or closed incorrectly")
    finally:  # a program that this hook starts may want more
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
