"""Owns how many large documents are rewritten at a time."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Protocol

from archivebox.replay.recorded import Reply
from archivebox.replay.rewritten import MAX_REWRITERS, LargeDocumentError

_large = ThreadPoolExecutor(MAX_REWRITERS, thread_name_prefix="large")


class Make(Protocol):
    """Makes an answer. LargeDocumentError where it takes a large document that is not ready, unless ``apart``."""

    def __call__(self, *, apart: bool = False) -> Reply: ...


async def run_in_turn(make: Make) -> Reply:
    """What ``make`` returns: at once where it is ready, or takes little; else when it is its turn."""
    try:
        return await asyncio.to_thread(make)
    except LargeDocumentError:
        return await asyncio.get_running_loop().run_in_executor(_large, partial(make, apart=True))
