"""Owns `archivebox plugin new`: the folder that an author begins with."""

import json
from collections.abc import Mapping

from archivebox.cli.errors import BadInputError
from archivebox.cli.session import Session
from archivebox.config.settings import DATA_FOLDER
from archivebox.contract.discovery import PLUGIN_NAME
from archivebox.contract.schema import prefix
from archivebox.hooks import plugins
from archivebox.lib.jsonl import JSON

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
