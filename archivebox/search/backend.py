"""Asks the search engine: a bundled one in this process, any other by the script of its plugin. Indexes anew."""

import json
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from threading import BoundedSemaphore
from typing import NamedTuple
from uuid import UUID

from django.db import OperationalError, connection, transaction

from archivebox.config.resolve import Resolved
from archivebox.config.settings import DATA_FOLDER
from archivebox.contract.discovery import Plugin
from archivebox.core.page_storage.folder import local_folder
from archivebox.core.snapshot import Snapshot, SnapshotQuerySet
from archivebox.hooks import base_layers, plugins, resolve_settings, script_environment
from archivebox.lib import jsonl
from archivebox.lib.jsonl import JSON
from archivebox.machine.binary import binary_paths
from archivebox.machine.host import Machine
from archivebox.plugins.base.searching import UnavailableError, answers

ENGINE = "SEARCH_BACKEND_ENGINE"
AT_ONCE = 4
"""Searches at a time of one web server, which answers 16 requests: the others are for all else."""
TURN_WAIT = 2.0
"""Seconds that a search waits for others, each of which takes some tens of milliseconds."""
LONGEST = 20
"""Seconds of one search in the database, which reads the titles of all pages where no index lists them."""
RETRY_AFTER = 5
"""Seconds after which somebody may try again."""
BUSY = "Too many searches are running. Try again in a few seconds."

_turns = BoundedSemaphore(AT_ONCE)


class SearchUnavailableError(Exception):
    """The backend cannot answer; the message is a sentence for people."""


class SearchBusyError(SearchUnavailableError):
    """So many search already that this one has to wait for longer than is good for the server."""


class SearchHit(NamedTuple):
    """One text with all the words: the key of its Snapshot, and which file of which plugin it is."""

    snapshot: UUID
    plugin: str
    file: str


@contextmanager
def search_turn(query: str) -> Iterator[None]:
    """One of the few searches at a time, for which the database has a limited time. A list has no query, and no limit.

    SearchUnavailableError, and SearchBusyError.
    """
    if not query:
        yield
        return
    if not _turns.acquire(timeout=TURN_WAIT):
        raise SearchBusyError(BUSY)
    began = time.monotonic()
    try:
        with limited_to(LONGEST):
            yield
    except OperationalError:
        if time.monotonic() - began < LONGEST:
            raise
        raise SearchUnavailableError(f"The search took longer than {LONGEST} seconds: use fewer words.") from None
    finally:
        _turns.release()


@contextmanager
def limited_to(seconds: float) -> Iterator[None]:
    """Have the database interrupt what it is asked in this block after so long. OperationalError."""
    if connection.vendor != "sqlite":
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL statement_timeout = {int(seconds * 1_000)}")
            yield
        return
    deadline = time.monotonic() + seconds
    connection.ensure_connection()
    driver = connection.connection
    driver.set_progress_handler(lambda: time.monotonic() > deadline, 10_000)
    try:
        yield
    finally:
        driver.set_progress_handler(None, 0)


@dataclass(frozen=True, slots=True)
class SearchBackend:
    """One engine, by the plugin that speaks for it."""

    engine: str
    plugin: Plugin
    script: str
    settings: Resolved

    def query(self, questions: Sequence[tuple[Sequence[str], int]]) -> list[list[SearchHit]]:
        """For each question (words, and how many texts at most) the texts with all its words, the best first."""
        found: list[list[SearchHit]] = [[]]
        for record in self._ask("query", ({"words": list(words), "limit": limit} for words, limit in questions)):
            if record.get("type") == "Answered":
                found.append([])
            elif (hit := _hit(record)) is not None:
                found[-1].append(hit)
        return [hits[:limit] for hits, (_, limit) in zip(found, questions, strict=False)]

    def index(self, snapshots: Iterable[Snapshot]) -> int:
        """Replace the texts of these Snapshots; returns how many there are."""
        requests = (_request(snapshot, local_folder(snapshot)) for snapshot in snapshots)
        counts = (record.get("texts") for record in self._ask("index", requests))
        return sum(count for count in counts if isinstance(count, int))

    def remove(self, snapshots: Iterable[Snapshot]) -> None:
        """Forget the texts of these Snapshots."""
        self._ask("remove", (_request(snapshot, snapshot.path) for snapshot in snapshots))

    def flush(self) -> None:
        """Forget all."""
        self._ask("flush", ())

    def _ask(self, verb: str, requests: Iterable[dict[str, JSON]]) -> list[dict[str, JSON]]:
        """What the engine answers, over one connection, or its program, started once."""
        env = script_environment(self.plugin.name, self.settings, binary_paths(Machine.current().pk))
        if self.plugin.source != "bundled":
            return self._run(verb, requests, env)
        module = import_module(f"archivebox.plugins.{self.plugin.name}.{Path(self.script).stem}")
        try:
            with closing(module.ENGINE(env)) as engine:
                return list(answers(engine, verb, requests, env))
        except UnavailableError as problem:
            raise SearchUnavailableError(str(problem)) from None

    def _run(self, verb: str, requests: Iterable[dict[str, JSON]], env: dict[str, str]) -> list[dict[str, JSON]]:
        timeout = None if verb == "index" else self.settings.get_float(self.plugin.timeout_setting)
        try:
            done = subprocess.run(
                [sys.executable, str(self.plugin.path / self.script), verb],
                input=b"".join(map(jsonl.dumps, requests)),
                env=env,
                capture_output=True,
                timeout=timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise SearchUnavailableError(
                f"The search took longer than {timeout:g} seconds: raise {self.plugin.timeout_setting}."
            ) from None
        if done.returncode:
            lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise SearchUnavailableError(lines[-1] if lines else f"The plugin {self.plugin.name} does not answer.")
        return list(jsonl.iter_lines(done.stdout.splitlines()))


def _hit(record: Mapping[str, JSON]) -> SearchHit | None:
    """What an engine answered; None for what is none of ours, which a server may have from others."""
    try:
        return SearchHit(UUID(str(record["snapshot"])), str(record["plugin"]), str(record["file"]))
    except (ValueError, KeyError):
        return None


def _request(snapshot: Snapshot, folder: Path) -> dict[str, JSON]:
    return {"snapshot": str(snapshot.pk), "folder": str(folder)}


def chosen_backend() -> SearchBackend | None:
    """The backend that this collection searches with; None where none is wanted or it is switched off.

    SearchUnavailableError where no plugin is the engine that the settings name.
    """
    settings = resolve_settings(base_layers())
    wanted = settings.search_engine
    engines = {plugin.search.engine: plugin for plugin in plugins().values() if plugin.search is not None}
    if not wanted:
        return None
    if wanted not in engines:
        raise SearchUnavailableError(f"There is no engine {wanted!r}: set {ENGINE} to one of {', '.join(engines)}.")
    plugin = engines[wanted]
    if plugin.search is None or not settings.get_flag(plugin.enabled_setting):
        return None
    return SearchBackend(wanted, plugin, plugin.search.script, settings)


def forget(snapshots: Iterable[Snapshot]) -> None:
    """Take their texts out of the index. SearchUnavailableError."""
    if (backend := chosen_backend()) is not None:
        backend.remove(snapshots)


def learn(snapshots: Iterable[Snapshot]) -> None:
    """Bring their texts into the index again; nobody asks for them where there is none. SearchUnavailableError."""
    if (backend := chosen_backend()) is not None:
        backend.index(snapshots)


BATCH = 20
"""Snapshots of one query and one call of the engine, after which it is noted how far the index is."""
NOTHING = UUID(int=0)


@dataclass(slots=True)
class ReindexProgress:
    """How far it is: Snapshots done of all that are to be, the texts they had, and the last of them."""

    total: int
    done: int = 0
    texts: int = 0
    last: UUID = NOTHING


def reindex(backend: SearchBackend, only: SnapshotQuerySet) -> Iterator[ReindexProgress]:
    """Index these Snapshots again; the others stay as they are."""
    progress = ReindexProgress(only.count())
    yield from _index_all(backend, only, NOTHING, progress)


def rebuild(backend: SearchBackend) -> Iterator[ReindexProgress]:
    """Forget all and index every Snapshot; after an interruption, go on where that came."""
    rows = Snapshot.objects.kept()
    reached = _reached(backend)
    if reached is None:
        backend.flush()
        reached = _note(backend, NOTHING)
    progress = ReindexProgress(rows.count(), done=rows.filter(id__lte=reached).count())
    for _ in _index_all(backend, rows, reached, progress):
        _note(backend, progress.last)
        yield progress
    DATA_FOLDER.reindexed.unlink(missing_ok=True)


def _index_all(
    backend: SearchBackend, rows: SnapshotQuerySet, after: UUID, progress: ReindexProgress
) -> Iterator[ReindexProgress]:
    """The oldest first, by key: what is added meanwhile is indexed by its own hook, or here."""
    while batch := list(rows.filter(id__gt=after).order_by("id")[:BATCH]):
        progress.texts += backend.index(batch)
        progress.done += len(batch)
        progress.last = after = batch[-1].pk
        yield progress


def _reached(backend: SearchBackend) -> UUID | None:
    """The Snapshot up to which an earlier call came that was interrupted; None where none was."""
    try:
        noted = json.loads(DATA_FOLDER.reindexed.read_text())
        return UUID(noted["snapshot"]) if noted["engine"] == backend.engine else None
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def _note(backend: SearchBackend, snapshot: UUID) -> UUID:
    DATA_FOLDER.reindexed.write_text(json.dumps({"engine": backend.engine, "snapshot": str(snapshot)}))
    return snapshot
