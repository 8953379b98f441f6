"""Owns `archivebox plugin run`: trying the hooks of one plugin on one URL, after what they need."""

import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

from archivebox.base_models.rows import new_id
from archivebox.cli import settings
from archivebox.cli.errors import BadInputError, StoppedError
from archivebox.cli.plugin.body import find_plugin
from archivebox.cli.session import Session
from archivebox.contract.discovery import Plugin
from archivebox.contract.hook import READY_TIME, Hook
from archivebox.crawls.admission import check_url
from archivebox.hooks import Proxy, crawl_layers, discover_hooks, plugins, resolve_settings, run_hook
from archivebox.lib.jsonl import JSON
from archivebox.machine.binary import binary_paths
from archivebox.machine.models import Machine, Process
from archivebox.workers.egress.trial import temporary_proxy

LISTENS = 1.0
"""Seconds that a background hook has at least, as in a crawl."""
POLL_EVERY = 0.05
"""Seconds between two checks whether a background hook is ready."""


def run(session: Session, *, name: str, url: str, hook: str | None, output: str | None, config: tuple[str, ...]) -> int:
    """Run a plugin's hooks one after the other, and before them those they need; status 1 if one did not end with 0."""
    plugin = find_plugin(name)
    answer = check_url(url)
    if not answer.admitted or answer.url is None:
        raise BadInputError(answer.sentence)
    hooks = [found for found in plugin.hooks if found.name.event == "Snapshot" and hook in (None, found.file_name)]
    if not hooks:
        raise BadInputError(f"The plugin {name} has no such hook for pages: see `archivebox plugin show {name}`.")
    changes = {spec.name: value for spec, value in map(settings.parse_pair, config)}
    folder = Path(output).resolve() if output else Path(tempfile.mkdtemp(prefix=f"archivebox-{name}-"))
    trial = Trial(session, answer.url.href, folder, changes)
    with temporary_proxy(trial.url, trial.crawl_dir, trial.settings, trial.has_started) as trial.proxy:
        try:
            for needed in needed_before(plugin, hooks):
                if trial.settings.is_enabled(needed.plugin):
                    trial.start(needed)
            started = [(found, trial.start(found)) for found in hooks]
            codes = [_finish(session, found, process, folder) for found, process in started]
        finally:
            trial.end()
    return 1 if any(codes) else 0


def needed_before(plugin: Plugin, hooks: list[Hook]) -> Iterator[Hook]:
    """The hooks that have to run before: of its crawl, of the plugins it requires, and those that open the page."""
    needed = {plugin.name, *_required(plugin)}
    if any(hook.page for hook in hooks):
        session = {hook.plugin for hook in discover_hooks("Snapshot") if hook.session and hook.ready}
        needed |= session.union(*(_required(plugins()[name]) for name in session))
    yield from (hook for hook in discover_hooks("Crawl") if hook.plugin in needed)
    last = max(hook.sort_key for hook in hooks)
    for hook in discover_hooks("Snapshot"):
        if hook.plugin in needed - {plugin.name} and hook.sort_key < last:
            yield hook


def _required(plugin: Plugin) -> set[str]:
    """The plugins that it requires, and those that they require."""
    found: set[str] = set()
    waiting = list(plugin.required_plugins)
    while waiting:
        name = waiting.pop()
        if name in plugins() and name not in found:
            found.add(name)
            waiting.extend(plugins()[name].required_plugins)
    return found


class Trial:
    """The processes of one try: a crawl and a snapshot that are on no record but in their ids."""

    def __init__(self, session: Session, url: str, folder: Path, config: dict[str, JSON]) -> None:
        self.parent, self.url, self.folder, self.config = session.process, url, folder, config
        self.crawl_dir = folder / "crawl"
        self.proxy: Proxy | None = None
        self.ids: dict[str, UUID] = {"snapshot_id": new_id(), "crawl_id": new_id()}
        self.settings = resolve_settings(crawl_layers(config))
        self.binaries = binary_paths(Machine.current().pk)
        self._running: list[Process] = []

    def start(self, hook: Hook) -> Process:
        """Run a foreground hook to its end; start one in the background, and wait until it is ready if it says so."""
        arguments: dict[str, Any] = {"url": self.url, "crawl_id": self.ids["crawl_id"]}
        if hook.name.event == "Snapshot":
            arguments |= {"snapshot_id": self.ids["snapshot_id"], "depth": 0}
        else:
            arguments["source_url"] = self.url
        place = self.folder if hook.name.event == "Snapshot" else self.crawl_dir
        folder = place / hook.plugin
        process = run_hook(
            hook.path,
            folder,
            self.config,
            parent_process=self.parent,
            crawl_dir=self.crawl_dir,
            binaries=self.binaries,
            proxy=self.proxy,
            **arguments,
        )
        self._running.append(process)
        if hook.background and hook.ready:
            self._wait_until_ready(process)
        return process

    def has_started(self, process_id: str) -> bool:
        return any(str(process.pk) == process_id for process in self._running)

    def _wait_until_ready(self, process: Process) -> None:
        deadline = time.monotonic() + READY_TIME
        while time.monotonic() < deadline and process.poll() is None:
            if process.stdout_file.exists() and b"\n" in process.stdout_file.read_bytes():
                return
            time.sleep(POLL_EVERY)

    def end(self) -> None:
        """Tell what still runs to stop, the last first: the tab before its browser."""
        for process in reversed(self._running):
            if process.poll() is None:
                process.terminate()


def _finish(session: Session, hook: Hook, process: Process, folder: Path) -> int:
    """Wait for a hook and show its output. One that listens until the page is done is sent TERM after a second."""
    if hook.background and not hook.finite:
        time.sleep(LISTENS)
        process.terminate()
    try:
        code = process.wait()
    except TimeoutError:
        process.terminate()
        code = process.poll() or 0
    except StoppedError as stop:
        process.terminate()
        if stop.signum != signal.SIGINT:
            raise
        code = process.poll() or 0
    if process.stdout_file.exists():
        session.out.log(process.stdout_file.read_bytes())
    if code and process.stderr:
        session.out.warn(process.stderr.strip())
    record = {"type": "Process", "id": process.pk, "hook_name": hook.file_name, "exit_code": process.exit_code,
              "seconds": process.seconds, "pwd": str(folder / hook.plugin)}  # fmt: skip
    session.out.event(record, f"{hook.file_name} ended with {code} after {process.seconds or 0:.2f} s; "
                              f"what it made is in {folder / hook.plugin}.")  # fmt: skip
    return code
