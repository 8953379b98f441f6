"""What search backends have in common: which texts a page has, what they are asked, and how their scripts answer.

The application asks the `ENGINE` of a bundled backend in its own process. The script of any other is started, once for
all that is asked at a time, with one verb and JSON lines in and out: see `answer`.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import unicodedata
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple, NoReturn, Protocol

from archivebox.plugins.base.hook import Hook, emit, noresults, succeeded, try_again

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

MOST_TEXTS = 200  # files of one page
LONGEST = 16_000_000  # bytes of one file; what is beyond is not searched


class Text(NamedTuple):
    """One file of text: the plugin that wrote it, its name in that plugin's folder, and what it says."""

    plugin: str
    file: str
    content: str


class Hit(NamedTuple):
    """A text that has all the words: of which Snapshot, and of which of its files."""

    snapshot: str
    plugin: str
    file: str


class UnavailableError(Exception):
    """The engine cannot answer; the message is a sentence that says why and what to do."""


class Backend(Protocol):
    """What every search backend can do. `folder` is the Snapshot's, where a backend may keep notes of its own."""

    def index(self, snapshot: str, folder: Path, texts: Iterable[Text]) -> int:
        """Replace what is known of a Snapshot; return how many texts it has."""

    def remove(self, snapshot: str, folder: Path) -> None:
        """Forget a Snapshot, known or not."""

    def flush(self) -> None:
        """Forget all."""

    def query(self, words: list[str], limit: int) -> Iterable[Hit]:
        """Return the texts with every word, the best first. A word may be a phrase, or end with `*`: a beginning."""

    def close(self) -> None:
        """Let go of files and connections."""


# --- the texts of a page ---------------------------------------------------------------------------------------------


def texts_of(snapshot_folder: Path, environ: Mapping[str, str] = os.environ) -> Iterator[Text]:
    """Yield the texts of a page, the best first; what two plugins have found alike comes once."""
    seen: set[bytes] = set()
    for plugin, file, path in _declared_texts(snapshot_folder, environ):
        content = _read(path)
        digest = hashlib.sha256(content).digest()
        if content.strip() and digest not in seen:
            seen.add(digest)
            yield Text(plugin, file, content.decode("utf-8", "replace"))
        if len(seen) >= MOST_TEXTS:
            return


def _declared_texts(snapshot_folder: Path, environ: Mapping[str, str]) -> Iterator[tuple[str, str, Path]]:
    """Yield plugin, name and place of each file that `SEARCH_TEXTS` (plugin and pattern, in order) speaks of."""
    for plugin, pattern in json.loads(environ.get("SEARCH_TEXTS") or "[]"):
        folder = snapshot_folder / plugin
        for path in sorted(folder.rglob("*")):
            file = path.relative_to(folder).as_posix()
            if fnmatchcase(file, pattern) and path.is_file() and not path.is_symlink():
                yield plugin, file, path


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(LONGEST)
    except FileNotFoundError:
        return b""  # its plugin is at work again


# Hangul, too: its words end in particles.
UNSPACED = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u0f00-\u0fff"  # Tibetan
    "\u1000-\u109f"  # Burmese
    "\u1780-\u17ff"  # Khmer
    "\u3005-\u3007\u3040-\u30ff\u3100-\u312f\u31f0-\u31ff"  # kana, bopomofo, marks of repetition
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\uac00-\ud7af"  # Hangul syllables
)
"""Characters of scripts without spaces between words, as they stand between the brackets of a regular expression."""
_SEAM = re.compile(rf"(?<=[{UNSPACED}])(?=\w)|(?<=\w)(?=[{UNSPACED}])")


def segmented(text: str) -> str:
    """Return `text` with each character of such a script as a word of its own; wide forms become plain (Unicode NFKC).

    A word of a question is a phrase then, and found wherever it stands, however short it is.
    """
    if text.isascii():
        return text
    return _SEAM.sub(" ", unicodedata.normalize("NFKC", text))


# --- the hook and the script of a backend ----------------------------------------------------------------------------


def index_this_page(backend: Backend) -> NoReturn:
    """Index the Snapshot of this hook, and end it with what came of that."""
    folder = Path(os.pardir).resolve()
    try:
        count = backend.index(Hook.from_argv().snapshot_id, folder, texts_of(folder))
    except UnavailableError as problem:
        try_again(str(problem))
    if not count:
        noresults("The page has no text")
    succeeded(f"{count} text{'' if count == 1 else 's'}", {"texts": count})


def answer(backend: Backend) -> None:
    """Answer what stdin asks for the verb of the first argument; the whole `main` of a backend's script.

    A failure is one sentence on standard error and an exit status that is not 0.
    """
    try:
        for record in answers(backend, sys.argv[1], map(json.loads, sys.stdin), os.environ):
            emit(**record)
    except UnavailableError as problem:
        print(problem, file=sys.stderr)
        raise SystemExit(1) from None


def answers(
    backend: Backend, verb: str, requests: Iterable[dict[str, Any]], environ: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """Yield the records that answer requests.

    `index` and `remove` get `{"snapshot", "folder"}`, and answer each when it is done; `query` gets `{"words",
    "limit"}`, and answers each with its hits, the best first, and `Answered`; `flush` gets none, and forgets all.
    """
    if verb == "flush":
        backend.flush()
        return
    for request in requests:
        if verb == "query":
            for hit in backend.query(request["words"], request["limit"]):
                yield {"type": "Hit", "snapshot": hit.snapshot, "plugin": hit.plugin, "file": hit.file}
            yield {"type": "Answered"}
            continue
        snapshot, folder = request["snapshot"], Path(request["folder"])
        if verb == "index":
            count = backend.index(snapshot, folder, texts_of(folder, environ))
            yield {"type": "Indexed", "snapshot": snapshot, "texts": count}
        else:
            backend.remove(snapshot, folder)
            yield {"type": "Removed", "snapshot": snapshot}
