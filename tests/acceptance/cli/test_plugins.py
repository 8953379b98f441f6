"""What cannot be understood of a plugin, or broke in it, is said wherever somebody looks."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.cli.conftest import CHECKOUT, Type
from tests.site.serve import Site

URL = "https://example.com/page"
SOFT = """echo '{"type": "ArchiveResult", "status": "failed", "output_str": "gone"}'\n"""


@pytest.fixture
def broken(collection: Path) -> None:
    """One hook with a syntax error, one with a wrong name, one folder with a wrong name, one broken config."""
    files = {
        "tiny/on_Snapshot__60_tiny.py": "def main(:\n",
        "tiny/Snapshot__61_tiny.sh": "true\n",
        "my plugin/on_Snapshot__60_mine.sh": "true\n",
        "conf/on_Snapshot__60_conf.sh": "true\n",
        "conf/config.json": "{,}",
        "soft/on_Snapshot__60_soft.sh": SOFT,
    }
    _write(collection, files)


def _write(collection: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = collection / "plugins" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


GREETING = """
from words import HELLO

from archivebox.plugins.base import Hook, succeeded, write_atomically

write_atomically("greeting.txt", f"{HELLO}, {Hook.from_argv().url}\\n")
succeeded("greeting.txt")
"""
SAID = ("Snapshot__61_tiny.sh is not a hook's name", "its folder's name may hold", "config.json cannot be read")


@pytest.mark.usefixtures("broken")
@pytest.mark.parametrize(
    ("words", "code"),
    [(("plugin", "lint"), 1), (("doctor",), 1), (("plugin", "list"), 0)],
    ids=str,
)
def test_what_cannot_be_understood_is_said(cli: Type, words: tuple[str, ...], code: int) -> None:
    done = cli(*words)
    assert done.code == code
    for sentence in SAID:
        assert sentence in done.out
    assert words == ("plugin", "list") or "Python cannot read it" in done.out


@pytest.mark.usefixtures("broken")
def test_a_hook_that_breaks_says_why(cli: Type) -> None:
    added = cli("add", URL, "--plugins", "tiny,soft,conf")
    assert "The plugin conf: config.json cannot be read" in added.err
    assert "The plugin tiny: Snapshot__61_tiny.sh is not a hook's name" in added.err
    assert "my plugin" not in added.err, "it was not chosen"
    assert "tiny/on_Snapshot__60_tiny.py" in added.err
    assert "SyntaxError" in added.err
    assert "SyntaxError" in cli("status").out
    shown = {
        str(record["hook_name"]): record for record in cli("snapshot", "show", URL).records if "hook_name" in record
    }
    crashed, soft = shown["on_Snapshot__60_tiny.py"], shown["on_Snapshot__60_soft.sh"]
    assert "SyntaxError: " in str(crashed["sentence"])
    (process,) = [word for word in str(crashed["action"]).replace("`", " ").split() if word.count("-") == 4]
    assert "SyntaxError" in cli("process", "tail", "--stderr", process).out
    assert soft["sentence"] == "gone"


@pytest.mark.once
def test_a_plugin_of_an_installed_package_works_as_one_in_the_data_folder(
    cli: Type, collection: Path, tmp_path: Path
) -> None:
    """Laid out as an installer leaves a wheel, beside its metadata."""
    site = tmp_path / "site"
    files = {
        "greeting_package/plugin/on_Snapshot__60_greeting.py": GREETING,
        "greeting_package/plugin/words.py": "HELLO = 'Hello from a package'\n",
        "greeting_package/plugin/config.json": '{"title": "Greeting", "x-outputs": []}\n',
        "greeting_package/__init__.py": "raise SystemExit('a plugin is found without importing its package')\n",
        "greeting-1.0.dist-info/entry_points.txt": "[archivebox.plugins]\ngreeting = greeting_package.plugin\n",
    }
    for name, text in files.items():
        path = site / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    installed = {"PYTHONPATH": f"{CHECKOUT}{os.pathsep}{site}"}
    assert "greeting" in {record["name"] for record in cli("plugin", "list", **installed).records}
    added = cli("add", URL, "--plugins", "greeting", **installed)
    assert added.code == 0, added.err
    (output,) = collection.glob("users/*/snapshots/*/*/*/greeting/greeting.txt")
    assert output.read_text() == f"Hello from a package, {URL}\n"


HOLDER = """say() { echo "$1" >> "$DATA_DIR/ledger"; }
trap "say %s-told; exit 0" TERM
say %s-up
%s
echo ready
while :; do sleep 0.05; done
"""


def test_a_hook_that_needs_the_page_is_tried_with_one(cli: Type, collection: Path) -> None:
    tab, hook = "on_Snapshot__20_tab.daemon.bg.sh", "on_Snapshot__55_look.sh"
    files = {
        "browser/on_Crawl__10_browser.daemon.bg.sh": HOLDER % ("browser", "browser", "echo up > up"),
        f"browser/{tab}": HOLDER % ("tab", "tab", 'cat "$CRAWL_DIR/browser/up" > page'),
        "browser/config.json": json.dumps({"x-hooks": {tab: {"session": True}}}),
        "other/on_Snapshot__10_other.sh": 'echo other >> "$DATA_DIR/ledger"\n',
        f"look/{hook}": 'cat ../browser/page && echo looked >> "$DATA_DIR/ledger"\n',
    }
    _write(collection, files)
    done = cli("plugin", "run", "look", "https://example.com/", "--config", "CHROME_ENABLED=false")
    assert done.code == 0, done.err
    assert "up" in done.out
    assert (collection / "ledger").read_text().split() == ["browser-up", "tab-up", "looked", "tab-told", "browser-told"]
    assert cli("process", "list", "--running", "--type", "hook").records == []


def test_a_trial_goes_out_by_the_rules_of_a_crawl(cli: Type, collection: Path) -> None:
    _write(collection, {"look/on_Snapshot__55_look.sh": "curl -sS http://10.0.0.1/\n"})
    done = cli("plugin", "run", "look", "https://example.com/")
    assert done.code == 0, done.err
    assert "10.0.0.1:80: it is on a private network" in done.out


@pytest.mark.parametrize(
    "words", [("--lang", "py"), ("--lang", "sh"), ("--lang", "js"), ("--page",), ("--page", "--lang", "js")]
)
def test_a_new_plugin_passes_lint_runs_and_has_a_test(cli: Type, collection: Path, words: tuple[str, ...]) -> None:
    made = cli("plugin", "new", "greeting", *words)
    assert made.code == 0, made.err
    folder = collection / "plugins" / "greeting"
    program = collection.parent / "bin" / "archivebox"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m archivebox "$@"\n')
    program.chmod(0o755)
    env = {**os.environ, "PYTHONPATH": str(CHECKOUT), "PATH": f"{program.parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(folder), str(folder)],
        env=env,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout
    assert cli("plugin", "new", "greeting").code == 2


@pytest.mark.parametrize("words", [("new", "a b"), ("new", "x", "--lang", "sh", "--page"), ("new", "dom")])
def test_a_plugin_that_cannot_be_is_refused(cli: Type, collection: Path, words: tuple[str, ...]) -> None:
    assert cli("plugin", *words).code == 2
    assert list((collection / "plugins").iterdir()) == []


@pytest.mark.default
@pytest.mark.browser
@pytest.mark.once
def test_the_examples_of_the_plugin_contract_work(cli: Type, collection: Path, site: Site) -> None:
    """docs/plugin-contract.md shows these folders; each is copied into a collection as it is."""
    examples = CHECKOUT / "docs" / "examples"
    shutil.copytree(examples, collection / "plugins", dirs_exist_ok=True)
    names = sorted(folder.name for folder in examples.iterdir())
    assert cli("plugin", "lint", *names).out == ""
    added = cli("add", site.url_for("/article"), site.url_for("/file.pdf"), "--plugins", ",".join(names))
    assert added.code == 0, added.err
    results = {
        (path, str(record["plugin"])): record["status"]
        for path in ("/article", "/file.pdf")
        for record in cli("snapshot", "show", site.url_for(path)).records
        if record.get("plugin") in names
    }
    assert results == {
        (path, name): status for path, status in (("/article", "succeeded"), ("/file.pdf", "skipped")) for name in names
    }
    (outline,) = collection.glob("users/*/snapshots/*/*/*/headings/headings.txt")
    assert outline.read_text().startswith("On Keeping Pages\n  Pages that vanish\n")
    (images,) = collection.glob("users/*/snapshots/*/*/*/images/images.json")
    assert json.loads(images.read_text())[0]["width"] > 0
    (count,) = collection.glob("users/*/snapshots/*/*/*/word_count/word_count.txt")
    assert int(count.read_text().split()[0]) > 500
