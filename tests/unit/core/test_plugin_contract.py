"""`docs/plugin-contract.md` and `docs/plugin-topics.md` say what the code does, and all of it."""

import json
import re
import shutil
from pathlib import Path

import pytest

from archivebox.config.core import SHARED_SETTINGS
from archivebox.contract.hook import HOOK_FLAGS, HOOK_LISTS
from archivebox.contract.hooknames import EVENT_ALIASES, EVENTS
from archivebox.contract.records import handler_for, registered_types
from archivebox.contract.scripts import OPTIONS
from archivebox.core import models
from archivebox.hooks import (
    INHERITED,
    Call,
    Proxy,
    crawl_layers,
    discover_hooks,
    environment_of_process,
    forget_plugins,
    plugins,
    prepare_hook,
    resolve_settings,
    snapshot_folders,
)
from archivebox.lib.processes import MARK
from archivebox.storage.layout import DataFolder
from tests.architecture import source

DOCS = source.ROOT / "docs"
EXAMPLES = sorted(path for path in DOCS.glob("examples/*/*") if path.is_file())
TEXT = "".join((DOCS / name).read_text() for name in ("plugin-contract.md", "plugin-topics.md"))


def table(heading: str) -> list[list[str]]:
    """The rows of the table under a column's heading, cell by cell."""
    lines = TEXT[TEXT.index(f"| {heading} |") :].partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def words(cells: list[str]) -> set[str]:
    return {word for cell in cells for word in re.findall(r"`([^`]+)`", cell)}


def test_every_record_type_is_there_and_no_other() -> None:
    ours = {
        name for name in registered_types() if getattr(handler_for(name), "__module__", "").startswith("archivebox.")
    }
    assert {model.__name__ for model in (models.Snapshot, models.Tag)} <= ours
    assert words([row[0] for row in table("type")]) == {*ours, "ArchiveResult", "Ready", "Waiting"}


def test_every_key_of_x_hooks_is_there_and_no_other() -> None:
    assert words([row[0] for row in table("key")]) == {*HOOK_FLAGS, *HOOK_LISTS, "applies", "network"}


def test_every_option_and_event_is_there_and_no_other() -> None:
    assert words([row[1] for row in table("event")]) == set(OPTIONS)
    (events,) = re.findall(r"`<Event>` is (.*?)\. `NN`", TEXT, re.DOTALL)
    assert words([events]) == {*EVENTS, *EVENT_ALIASES}


@pytest.mark.usefixtures("collection")
def test_every_name_of_the_environment_is_there_and_no_other() -> None:
    documented = words([row[0] for row in table("name")])
    (hook,) = [hook for hook in discover_hooks("Snapshot") if hook.file_name.endswith("_dom.py")]
    folders = snapshot_folders(source.ROOT) | {"CRAWL_DIR": "c", "CRAWL_OUTPUT_DIR": "c"}
    settings = resolve_settings([])
    given = prepare_hook(hook, Call(source.ROOT, {}, {}, folders, settings, {})).env
    own = set(settings.for_plugin("dom")) - set(SHARED_SETTINGS)
    assert documented == {*given, *INHERITED, *SHARED_SETTINGS, MARK} - own


def test_hooks_of_others_alone_have_a_password_for_the_proxy(collection: DataFolder) -> None:
    """What a bundled hook fetches is named by pages: a redirect of wget's into a DevTools port stays refused."""
    folder = collection.plugins / "mine"
    folder.mkdir(parents=True)
    (folder / "on_Snapshot__60_mine.sh").write_text("exit 0\n")
    forget_plugins()
    call = Call(source.ROOT, {}, {}, {}, resolve_settings([]), {}, proxy=Proxy("127.0.0.1:1", "secret"))
    envs = {hook.plugin: prepare_hook(hook, call).env for hook in discover_hooks("Snapshot")}
    assert envs["mine"]["http_proxy"] == envs["mine"]["ALL_PROXY"] == "http://hook:secret@127.0.0.1:1"
    assert {env["http_proxy"] for name, env in envs.items() if name != "mine"} == {"http://hook:none@127.0.0.1:1"}
    own = environment_of_process(envs["mine"], "an-id")
    assert {own["http_proxy"], own["ALL_PROXY"]} == {"http://an-id:secret@127.0.0.1:1"}
    assert own[MARK] == "an-id"
    assert environment_of_process({"HOME": "/"}, "an-id") == {"HOME": "/", MARK: "an-id"}
    assert not any("secret" in value for name, env in envs.items() for value in env.values() if name != "mine")


def recording_plugin(**config: bool) -> str:
    call = Call(source.ROOT, {}, {}, {}, resolve_settings(crawl_layers(config)), {})
    (hook,) = [hook for hook in discover_hooks("Snapshot") if hook.file_name.endswith("_dom.py")]
    return prepare_hook(hook, call).env["RECORDING_PLUGIN"]


def test_who_records_pages_is_found_by_what_it_says(collection: DataFolder) -> None:
    assert recording_plugin() == "responses"
    for name, outputs in (("responses", []), ("mine", [{"role": "recording", "file": "index.jsonl"}])):
        folder = collection.plugins / name
        folder.mkdir(parents=True)
        (folder / "on_Snapshot__24_x.sh").write_text("exit 0\n")
        (folder / "config.json").write_text(json.dumps({"x-outputs": outputs}))
        forget_plugins()
        assert recording_plugin() == ("mine" if outputs else "")
        assert any("recording" in warning for warning in plugins()["responses"].warnings)
    shutil.rmtree(collection.plugins / "responses")
    forget_plugins()
    assert (recording_plugin(), recording_plugin(MINE_ENABLED=False)) == ("mine", "responses")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_the_page_shows_each_file_of_the_examples_as_it_is(path: Path) -> None:
    shown = f"{path.parent.name}/{path.name}"
    (block,) = re.findall(rf"`{re.escape(shown)}`:\n\n```\w+\n(.*?)```", TEXT, re.DOTALL)
    assert block == path.read_text()
