"""Owns asking the search backend: the script of whichever plugin is the chosen engine."""

import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from archivebox.config.resolve import Resolved
from archivebox.contract.discovery import Plugin
from archivebox.core.page_storage.folder import local_folder
from archivebox.core.snapshot import Snapshot
from archivebox.hooks import base_layers, plugins, resolve_settings, script_environment
from archivebox.lib import jsonl, processes
from archivebox.lib.jsonl import JSON
from archivebox.machine.binary import binary_paths
from archivebox.machine.host import Machine

ENGINE = "SEARCH_BACKEND_ENGINE"


class SearchUnavailableError(Exception):
    """The backend cannot answer; the message is a sentence for people."""


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One text with all the words: the key of its Snapshot, and which file of which plugin it is."""

    snapshot: UUID
    plugin: str
    file: str


@dataclass(frozen=True, slots=True)
class SearchBackend:
    """One engine, by the plugin that speaks for it."""

    engine: str
    plugin: Plugin
    script: Path
    settings: Resolved

    def query(self, words: Sequence[str], limit: int) -> list[SearchHit]:
        """Texts with all the words, the best first."""
        found = self._ask("query", [{"words": list(words), "limit": limit}])
        return [hit for hit in map(_hit, found) if hit is not None][:limit]

    def remove(self, snapshots: Iterable[Snapshot]) -> None:
        """Forget the texts of these Snapshots."""
        self._ask("remove", (_request(snapshot, snapshot.path) for snapshot in snapshots))

    def flush(self) -> None:
        """Forget all."""
        self._ask("flush", [])

    def _ask(self, verb: str, requests: Iterable[dict[str, JSON]]) -> list[dict[str, JSON]]:
        timeout = self.settings.get_float(self.plugin.timeout_setting)
        try:
            done = subprocess.run(
                self._command(verb),
                input=b"".join(map(jsonl.dumps, requests)),
                env=self._env,
                capture_output=True,
                timeout=timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise SearchUnavailableError(
                f"The search took longer than {timeout:g} seconds: raise {self.plugin.timeout_setting}."
            ) from None
        if done.returncode:
            raise _problem(self.plugin, done.stderr)
        return list(jsonl.iter_lines(done.stdout.splitlines()))

    @contextmanager
    def indexing(self) -> Iterator["Indexing"]:
        """A conversation in which Snapshots are indexed one after the other, by one process."""

        def start() -> "subprocess.Popen[bytes]":
            pipe = subprocess.PIPE
            return subprocess.Popen(self._command("index"), env=self._env, stdin=pipe, stdout=pipe, stderr=pipe)

        with processes.foreground_child(start) as process:
            yield Indexing(self.plugin, process)

    def _command(self, verb: str) -> list[str]:
        return [sys.executable, str(self.script), verb]

    @property
    def _env(self) -> dict[str, str]:
        return script_environment(self.plugin.name, self.settings, binary_paths(Machine.current().pk))


class Indexing:
    """Snapshots that are being indexed."""

    def __init__(self, plugin: Plugin, process: "subprocess.Popen[bytes]") -> None:
        self._plugin, self._process = plugin, process

    def index(self, snapshot: Snapshot) -> int:
        """Replace the texts of a Snapshot, and wait until that is done; returns how many it has."""
        stdin, stdout = self._process.stdin, self._process.stdout
        try:
            stdin.write(jsonl.dumps(_request(snapshot, local_folder(snapshot))))  # type: ignore[union-attr]  # both are pipes
            stdin.flush()  # type: ignore[union-attr]  # both are pipes
        except BrokenPipeError:
            raise self._problem() from None
        while line := stdout.readline():  # type: ignore[union-attr]  # both are pipes
            answer = jsonl.loads(line)
            if answer is not None and answer.get("type") == "Indexed":
                texts = answer.get("texts")
                return texts if isinstance(texts, int) else 0
        raise self._problem()

    def _problem(self) -> SearchUnavailableError:
        return _problem(self._plugin, self._process.communicate()[1])


def _problem(plugin: Plugin, stderr: bytes) -> SearchUnavailableError:
    lines = stderr.decode("utf-8", "replace").strip().splitlines()
    return SearchUnavailableError(lines[-1] if lines else f"The plugin {plugin.name} does not answer.")


def _hit(record: Mapping[str, JSON]) -> SearchHit | None:
    """What an engine answered; None for what is none of ours, which a server may have from others."""
    try:
        return SearchHit(UUID(str(record.get("snapshot"))), str(record["plugin"]), str(record["file"]))
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
    return SearchBackend(wanted, plugin, plugin.path / plugin.search.script, settings)
