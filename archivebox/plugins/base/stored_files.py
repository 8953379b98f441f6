"""Files of one kind among the outputs of other plugins, and the text that a program reads out of them."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Literal

from archivebox.plugins.base.hook import failed, noresults, sibling, succeeded, write_atomically
from archivebox.plugins.base.tab import read_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import NoReturn

Kind = Literal["pdf", "picture", "media"]
HEAD = 16  # bytes
# By the first bytes (MIME Sniffing Standard, 6.1 and 6.2), since names of files on the web say little.
KINDS: dict[Kind, re.Pattern[bytes]] = {
    "pdf": re.compile(rb"%PDF-"),
    "picture": re.compile(rb"\x89PNG|\xff\xd8\xff|GIF8|BM|II\*\0|MM\0\*|RIFF....WEBP", re.DOTALL),
    "media": re.compile(rb"OggS|ID3|\xff[\xe2-\xfb]|fLaC|RIFF....(WAVE|AVI )|\x1aE\xdf\xa3|....ftyp", re.DOTALL),
}


def find_files(kind: Kind, plugins: Sequence[str]) -> list[str]:
    """Paths of the files of a kind, sorted, of the first plugin that has some.

    Of wget, which keeps pictures of the page beside it, what the URL itself is counts alone.
    """
    for plugin in plugins:
        found = [path for path in sorted(_files_of(plugin)) if _is(kind, path)]
        if found:
            return found
    return []


def _files_of(plugin: str) -> Iterator[str]:
    folder = sibling(plugin)
    if plugin == "wget":
        page = (read_json(os.path.join(folder, "wget.json")) or {}).get("path")
        return iter([os.path.join(folder, page)] if page else [])
    return (os.path.join(parent, name) for parent, _, names in os.walk(folder) for name in names if name[0] != ".")


def _is(kind: Kind, path: str) -> bool:
    inside = os.path.realpath(path).startswith(os.path.realpath(os.pardir) + os.sep)
    if not inside or not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return KINDS[kind].match(file.read(HEAD)) is not None


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
