"""Carries out `archivebox plugin new` and `run`: what an author of a plugin begins with, and tries it with."""

import json
import signal
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

from archivebox.base_models.rows import new_id
from archivebox.cli import settings
from archivebox.cli.errors import BadInputError, StoppedError
from archivebox.cli.plugin import find_plugin
from archivebox.cli.session import Session
from archivebox.config.settings import DATA_FOLDER
from archivebox.contract.discovery import PLUGIN_NAME, Plugin
from archivebox.contract.hook import READY_TIME, Hook
from archivebox.contract.schema import prefix
from archivebox.crawls.admission import check_url
from archivebox.hooks import Proxy, crawl_layers, discover_hooks, plugins, resolve_settings, run_hook
from archivebox.lib.jsonl import JSON
from archivebox.machine.binary import binary_paths
from archivebox.machine.models import Machine, Process
from archivebox.workers.egress.trial import temporary_proxy

HOOKS: Mapping[tuple[str, bool], str] = {
    ("py", False): '''#!/usr/bin/env python3
"""Write the page's URL to NAME.txt. Describe here what your hook saves."""

from archivebox.plugins.base import Hook, Settings, succeeded, write_atomically


def main() -> None:
    hook, settings = Hook.from_argv(), Settings()
    greeting = settings.str("PREFIX_GREETING") or "Hello"
    write_atomically("NAME.txt", f"{greeting} {hook.url}\\n")
    succeeded("NAME.txt")


if __name__ == "__main__":
    main()
''',
    ("sh", False): """#!/bin/bash
# Write the page's URL to NAME.txt. Describe here what your hook saves.
. "$HOOK_BASE/hook.sh" "$@"

echo "$(setting PREFIX_GREETING Hello) $opt_url" >.NAME.tmp && mv .NAME.tmp NAME.txt
succeeded NAME.txt
""",
    ("js", False): """#!/usr/bin/env node
// Write the page's URL to NAME.txt. Describe here what your hook saves.
const { options, setting, succeeded, writeAtomically } = require(process.env.HOOK_BASE + "/hook.js");

succeeded(writeAtomically("NAME.txt", setting("PREFIX_GREETING", "Hello") + " " + options.url + "\\n"));
""",
    ("py", True): '''#!/usr/bin/env python3
"""Write the page's title to NAME.txt. Describe here what your hook saves."""

from archivebox.plugins.base import Settings, succeeded, write_atomically
from archivebox.plugins.base.tab import open_page


def main() -> None:
    settings = Settings()
    with open_page(settings.timeout("PREFIX"), read_only=True) as tab:
        title = str(tab.evaluate("document.title"))
    write_atomically("NAME.txt", settings.str("PREFIX_GREETING") + " " + title + "\\n")
    succeeded("NAME.txt")


if __name__ == "__main__":
    main()
''',
    ("js", True): """#!/usr/bin/env node
// Write the page's title to NAME.txt. Describe here what your hook saves.
const base = require(process.env.HOOK_BASE + "/hook.js");

async function main() {
  const page = base.openPage(base.seconds("PREFIX"));
  const title = await page.evaluate("document.title");
  page.close();
  base.succeeded(base.writeAtomically("NAME.txt", base.setting("PREFIX_GREETING", "Hello") + " " + title + "\\n"));
}

main().catch((error) => base.tryAgain(error.message));
""",
}

TEST = '''"""Runs the hook as the engine does, on a page of its own: `pytest` in this folder."""

import os
import subprocess
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

PLUGIN = Path(__file__).resolve().parents[1]
COLLECTION = {**os.environ, "DATA_DIR": str(PLUGIN.parents[1])}


class Page(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<title>A page</title>")

    def log_message(self, *words):
        """Say nothing."""


def test_lint_finds_nothing_to_correct():
    subprocess.run(["archivebox", "plugin", "lint", str(PLUGIN)], env=COLLECTION, check=True)


def test_the_page_is_greeted():
    server = HTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/"
    with tempfile.TemporaryDirectory() as folder:
        command = ["archivebox", "plugin", "run", PLUGIN.name, url, "--output", folder]
        subprocess.run(command, env=COLLECTION, check=True)
        assert Path(folder, PLUGIN.name, "NAME.txt").read_text().startswith("Hello ")
    server.shutdown()
'''

NODE = '{"type":"Binary","name":"node","binproviders":"env,apt,brew","overrides":{"apt":{"packages":["nodejs"]}}}\n'


def new(session: Session, *, name: str, lang: str, page: bool) -> int:
    """Write the folder; BadInputError where there is one already, or such a plugin cannot be."""
    folder = DATA_FOLDER.plugins / name
    if not PLUGIN_NAME.fullmatch(name):
        raise BadInputError("A plugin's name begins with a letter and holds letters, digits, _ and - only.")
    if name in plugins() or folder.exists():
        raise BadInputError(f"There is a plugin {name} already: see `archivebox plugin show {name}`.")
    if (lang, page) not in HOOKS:
        raise BadInputError("A hook in bash cannot speak to the live page: choose --lang py or --lang js.")
    for path, text in files_of(name, lang, page=page).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
        if path.startswith("on_"):
            (folder / path).chmod(0o755)
    record = {"type": "Plugin", "name": name, "path": str(folder)}
    session.out.event(record, f"Made {folder}. Try it: archivebox plugin run {name} https://example.com/")
    return 0


def files_of(name: str, lang: str, *, page: bool) -> dict[str, str]:
    """What the folder holds, by path."""
    hook = f"on_Snapshot__{55 if page else 60}_{name.replace('-', '_')}.{lang}"
    files = {hook: HOOKS[lang, page], "config.json": _config(name, page=page), f"tests/test_{name}.py": TEST}
    if lang == "js":
        files["binaries.jsonl"] = NODE
    return {path: text.replace("NAME", name).replace("PREFIX", prefix(name)) for path, text in files.items()}


def _config(name: str, *, page: bool) -> str:
    greeting: JSON = {"type": "string", "default": "Hello", "description": "What the page is greeted with"}
    config: dict[str, JSON] = {
        "title": name,
        "description": "Greets the page.",
        "output_mimetypes": ["text/plain"],
        "properties": {"PREFIX_GREETING": greeting},
    }
    if page:
        config["required_plugins"] = ["chrome"]
    return json.dumps(config, indent=2) + "\n"


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
