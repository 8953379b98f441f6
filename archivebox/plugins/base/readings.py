"""Keeps what a program reads out of stored files, one after the other, as the text of a page."""

from __future__ import annotations

import os

from archivebox.plugins.base.files import write_atomically
from archivebox.plugins.base.records import failed, noresults, succeeded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import NoReturn

OUTPUT = "content.txt"


class NotReadError(Exception):
    """The program could make nothing of a file."""


def keep_readings(
    files: Sequence[str], read: Callable[[str], str], *, most: int, unreadable: str, silent: str
) -> NoReturn:
    """Write what `read` finds in at most so many files, and end the hook.

    `unreadable`: the sentence where it could read none of them; `silent`: where there are no words in any.
    """
    texts, problems = [], []
    for file in files[:most]:
        try:
            texts.append(read(file))
        except NotReadError as error:
            problems.append(f"{os.path.basename(file)}: {error}")
    facts = {"files": len(files), "limit": most, "read": len(texts), "failed": problems}
    if not texts:
        failed(f"{unreadable}; {problems[0]}", facts)
    words = "\n\n".join(filter(None, texts))
    if not words:
        noresults(silent, facts)
    write_atomically(OUTPUT, words + "\n")
    succeeded(OUTPUT, facts)
