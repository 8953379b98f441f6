"""Personas are made, given cookies and settings, used by crawls and removed; they are their owner's alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.cli.conftest import Type

COOKIE = "127.0.0.1\tFALSE\t/\tFALSE\t0\tsession\tmine\n"
SAYS = """#!/bin/bash
. "$HOOK_BASE/hook.sh" "$@"
succeeded "$ACTIVE_PERSONA $USER_AGENT $COOKIES_FILE"
"""


@pytest.fixture
def reader(cli: Type, collection: Path) -> Path:
    """A persona with a user agent and a cookie."""
    done = cli("persona", "create", "Reader", "--config", "USER_AGENT=Reader/1.0")
    assert done.code == 0, done.err
    imported = cli("persona", "import-cookies", "Reader", "-", stdin="# Netscape HTTP Cookie File\n" + COOKIE)
    assert imported.record["cookies"] is True, imported.err
    return collection / "personas" / "Reader"


@pytest.mark.default
def test_what_a_persona_holds_is_its_owners_alone(cli: Type, reader: Path) -> None:
    assert {path.name: path.stat().st_mode & 0o777 for path in reader.iterdir()} == {
        "persona.conf": 0o600,
        "cookies.txt": 0o600,
        "profile": 0o700,
    }
    assert reader.stat().st_mode & 0o777 == 0o700
    shown = cli("persona", "show", "Reader")
    assert "mine" not in shown.out
    assert (shown.record["settings"], shown.record["profile"]) == (["USER_AGENT"], False)


def test_hooks_run_as_the_persona_of_their_crawl(cli: Type, reader: Path, collection: Path) -> None:
    plugin = collection / "plugins" / "says"
    plugin.mkdir()
    (plugin / "on_Snapshot__60_says.sh").write_text(SAYS)
    said = []
    for url, words in (("http://127.0.0.1:9/a", ["--persona", "Reader"]), ("http://127.0.0.1:9/b", [])):
        done = cli("add", "--plugins", "says", *words, url)
        assert done.code == 0, done.err
        shown = cli("snapshot", "show", url)
        said.append(next(r["output_str"] for r in shown.records if r.get("hook_name") == "on_Snapshot__60_says.sh"))
    assert said == [f"Reader Reader/1.0 {reader / 'cookies.txt'}", "Default  "]


def test_a_persona_that_works_stays_and_one_that_does_not_goes(cli: Type, reader: Path) -> None:
    cli("add", "--bg", "--persona", "Reader", "http://127.0.0.1:9/c")
    refused = cli("persona", "remove", "Reader", "--yes")
    assert (refused.code, "1 crawl" in refused.err) == (2, True), refused.err
    assert cli("persona", "create", "Other").code == 0
    assert cli("persona", "remove", "Other", "--yes").code == 0
    assert [record["name"] for record in cli("persona", "list").records] == ["Default", "Reader"]
    assert reader.is_dir()


def test_a_persona_is_shared_with_the_accounts_that_are_named_and_no_others(cli: Type, reader: Path) -> None:
    made = cli("manage", "createsuperuser", "--noinput", "--username", "eve", "--email", "eve@example.com")
    assert made.code == 0, made.err
    assert cli("persona", "share", "Reader", "eve").code == 0
    assert cli("persona", "list", "--name", "Reader").record["users"] == ["eve"]
    assert (reader / "users.txt").stat().st_mode & 0o777 == 0o600
    assert "Did you mean eve?" in cli("persona", "share", "Reader", "evi").err
    assert cli("persona", "share", "Reader").code == 0
    assert cli("persona", "list", "--name", "Reader").record["users"] == []


REFUSED = (
    (["persona", "create", "../x"], "not a persona's name"),
    (["persona", "create", "Reader"], "already"),
    (["persona", "create", "Two", "--config", "CHROME_EXTRA_HEADERS={}"], "secret"),
    (["persona", "share", "Reader", "nobody"], "no account nobody"),
    (["persona", "show", "Readr"], "Did you mean Reader?"),
    (["add", "--persona", "Nobody", "http://127.0.0.1:9/d"], "persona create 'Nobody'"),
    (["persona", "import-cookies", "Reader", "/dev/null"], "no cookies"),
)


def test_what_cannot_be_is_refused(cli: Type, reader: Path) -> None:
    for words, reason in REFUSED:
        done = cli(*words)
        assert (done.code, done.out) == (2, ""), words
        assert reason in done.err
    assert (reader / "cookies.txt").read_text().endswith(COOKIE), "what was there is still there"
