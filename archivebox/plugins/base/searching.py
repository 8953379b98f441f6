"""How a search backend answers the application: one verb a call, JSON lines in and out.

`<script> index` and `<script> remove` read lines of `{"snapshot", "folder"}` and answer each when it is done;
`<script> query` reads one line of `{"words", "limit"}` and answers with its hits, the best first; `<script> flush`
forgets all. A failure is one sentence on standard error and an exit status that is not 0.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import NamedTuple, NoReturn, Protocol

from archivebox.plugins.base.invocation import Hook
from archivebox.plugins.base.records import emit, noresults, succeeded, try_again
from archivebox.plugins.base.texts import texts_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from archivebox.plugins.base.texts import Text


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


def index_page(backend: Backend, snapshot: str, folder: Path) -> int:
    """Index the texts of one Snapshot; return how many there are."""
    return backend.index(snapshot, folder, texts_of(folder))


def index_this_page(backend: Backend) -> NoReturn:
    """Index the Snapshot of this hook, and end it with what came of that."""
    try:
        count = index_page(backend, Hook.from_argv().snapshot_id, Path(os.pardir).resolve())
    except UnavailableError as problem:
        try_again(str(problem))
    if not count:
        noresults("The page has no text")
    succeeded(f"{count} text{'' if count == 1 else 's'}", {"texts": count})


def answer(backend: Backend) -> None:
    """Do what the first argument says; the whole `main` of a backend's script."""
    try:
        _ANSWERS[sys.argv[1]](backend)
    except UnavailableError as problem:
        _refuse(str(problem))


def _index(backend: Backend) -> None:
    for request in _requests():
        count = index_page(backend, request["snapshot"], Path(request["folder"]))
        emit("Indexed", snapshot=request["snapshot"], texts=count)


def _remove(backend: Backend) -> None:
    for request in _requests():
        backend.remove(request["snapshot"], Path(request["folder"]))
        emit("Removed", snapshot=request["snapshot"])


def _query(backend: Backend) -> None:
    for request in _requests():
        for hit in backend.query(request["words"], request["limit"]):
            emit("Hit", snapshot=hit.snapshot, plugin=hit.plugin, file=hit.file)


def _flush(backend: Backend) -> None:
    backend.flush()


_ANSWERS = {"index": _index, "remove": _remove, "query": _query, "flush": _flush}


def _requests() -> Iterator[dict[str, Any]]:
    return map(json.loads, sys.stdin)


def _refuse(sentence: str) -> NoReturn:
    print(sentence, file=sys.stderr)
    raise SystemExit(1)
