"""Settings, whoever wrote them, are shown and removed by a command."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.acceptance.cli.conftest import Type

pytestmark = pytest.mark.default

URL = "http://127.0.0.1:9/"


def write_machine_settings(collection: Path, **settings: object) -> None:
    """As an earlier version, which checked nothing, let any hook do."""
    with closing(sqlite3.connect(collection / "index.sqlite3", timeout=30)) as database, database:
        database.execute("UPDATE machine_machine SET config = ?", [json.dumps(settings)])


@pytest.mark.once  # the rows of a file are written past the program
class TestOfTheMachine:
    def test_one_that_is_not_allowed_is_named_shown_and_removed(self, cli: Type, collection: Path) -> None:
        assert cli("status").code == 0  # of which this machine has a row
        write_machine_settings(collection, TIMEOUT="soon", MEDIA_TIMEOUT=7)
        refused = cli("add", "--bg", URL)
        assert (refused.code, "`archivebox config unset TIMEOUT` removes it" in refused.err) == (2, True)
        listed = {record["name"]: record for record in cli("config", "list").records}
        assert (listed["TIMEOUT"]["value"], listed["TIMEOUT"]["source"]) == ("soon", "machine")
        assert "TIMEOUT cannot be 'soon'" in str(listed["TIMEOUT"]["description"])
        assert cli("config", "explain", "TIMEOUT").records[-1]["value"] == "soon"
        assert cli("doctor").code == 1
        assert cli("config", "unset", "TIMEOUT", "YTDLP_TIMEOUT").record["places"][-1] == "this machine"  # type: ignore[index]
        assert cli("config", "get", "TIMEOUT").record["value"] == 60
        assert "machine" not in {record["source"] for record in cli("config", "list").records}
        assert cli("add", "--bg", URL).code == 0

    def test_what_is_set_by_hand_takes_its_place(self, cli: Type, collection: Path) -> None:
        assert cli("status").code == 0  # of which this machine has a row
        write_machine_settings(collection, TIMEOUT="soon")
        done = cli("config", "set", "TIMEOUT=5")
        assert (done.code, "This machine had its own values of TIMEOUT" in done.err) == (0, True)
        assert cli("config", "get", "TIMEOUT").record["value"] == 5
        overruled = cli("config", "unset", "TIMEOUT", TIMEOUT="9")
        assert "The environment sets TIMEOUT" in overruled.err


def test_those_of_a_crawl_a_page_and_a_persona_are_shown_and_removed(cli: Type, collection: Path) -> None:
    assert cli("persona", "create", "Work", "--config", "TIMEOUT=20").code == 0
    added = cli("add", "--bg", "--persona", "Work", "--config", "TIMEOUT=30", URL)
    assert added.code == 0, added.err
    (crawl,) = cli("crawl", "list").records
    (page,) = cli("list").records
    for place in (("--crawl", crawl["id"]), ("--snapshot", page["id"])):
        said = cli("config", "explain", "TIMEOUT", *map(str, place)).records
        assert [(one["source"], one["value"]) for one in said[1:]] == [("persona", "20"), ("crawl", 30)]
    assert cli("config", "unset", "TIMEOUT", "--crawl", str(crawl["id"])).code == 0
    assert cli("config", "unset", "TIMEOUT", "--persona", "Work").code == 0
    assert len(cli("config", "explain", "TIMEOUT", "--snapshot", str(page["id"])).records) == 1
    nothing = cli("config", "unset", "TIMEOUT", "--snapshot", str(page["id"]))
    assert (nothing.code, "Nothing was set there." in nothing.err) == (0, True)
    assert cli("config", "unset", "TIMEOUT", "--crawl", "x", "--persona", "Work").code == 2
    assert (collection / "personas" / "Work" / "persona.conf").exists()


def test_a_file_with_names_of_earlier_versions_gives_warnings(cli: Type, collection: Path) -> None:
    (collection / "ArchiveBox.conf").write_text("[METHODS]\nWGET_COOKIES_FILE = /x\nUSE_CURL = True\nOURS = 1\n")
    added = cli("add", "--bg", URL)
    assert added.code == 0
    assert "WGET_COOKIES_FILE has no effect: COOKIES_FILE applies to every program." in added.err
    checks = {str(one["sentence"]): one["action"] for one in cli("doctor").records if one["name"] == "settings"}
    assert checks["USE_CURL (file) has no effect."] == "Remove it: curl is not used."
    assert "OURS (file) is not a setting." in checks


@pytest.mark.usefixtures("collection")
def test_what_is_no_setting_of_a_crawl_is_refused_with_its_place(cli: Type) -> None:
    for command in (("add", "--bg"), ("schedule", "add", "--every=day")):
        refused = cli(*command, "--config", "WORKERS=2", URL)
        assert (refused.code, "WORKERS is a setting of this machine" in refused.err) == (2, True)


def test_doctor_says_what_keeps_scripts_of_archived_pages_off(cli: Type) -> None:
    def said(replay_url: str) -> list[str]:
        records = cli("doctor", BASE_URL="https://archive.example.org", REPLAY_URL=replay_url).records
        return [str(one["sentence"]) for one in records if one["name"] == "archived pages"]

    start = "Their scripts cannot run: REPLAY_URL"
    assert said("https://*.pages.example.org") == [f"{start} is on the same domain as BASE_URL."]
    assert said("https://pages.example.net") == [f"{start} gives pages no host name of their own."]
    assert said("https://*.pages.example.net") == []
