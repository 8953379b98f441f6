"""What is typed after `add` is taken, or refused with a sentence, and kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.cli.conftest import Type
from tests.browser_databases import PLACES, made
from tests.marks import first_by_default

pytestmark = pytest.mark.default

GOOD = "https://example.com/page"


@first_by_default(
    2,
    ("text", "reason"),
    [
        ("file:///etc/passwd", "file URLs are not archived"),
        ("example.com/page", "did you mean https://example.com/page"),
        ("--version", "begins with -"),
        ("https://user:secret@example.com/", "user name or password"),
    ],
)
def test_a_bad_argument_is_a_sentence_and_status_2_and_nothing_happens(
    cli: Type, tmp_path: Path, text: str, reason: str
) -> None:
    done = cli("add", "--bg", "--", text)
    assert done.code == 2
    assert reason in done.err
    assert "Traceback" not in done.err
    assert "secret" not in done.err
    assert done.out == ""
    assert list(tmp_path.iterdir()) == []


@first_by_default(
    3,
    ("words", "reason"),
    [
        (["--depth", "-1"], "depth"),
        (["--plugins", "wgett"], "Did you mean wget?"),
        (["--config", "TIMEOUT"], "KEY=VALUE"),
        (["--config", "TIMEOUT=soon"], "whole number"),
        (["--config", "TIMEOUTS=3"], "Did you mean TIMEOUT"),
        (["--config", "DATABASE_URL=postgres://me:pw@host/db"], "secret"),
        (["--update", "--overwrite"], "choose one"),
        (["--file", "/does/not/exist"], "No such file"),
        (["--file", "https://example.com/list"], "--file expects a file"),
        (["--colour"], "No such option"),
    ],
)
def test_a_bad_option_is_a_sentence_and_status_2_and_nothing_happens(
    cli: Type, tmp_path: Path, words: list[str], reason: str
) -> None:
    done = cli("add", "--bg", GOOD, *words)
    assert done.code == 2
    assert reason.lower() in done.err.lower()
    assert "Traceback" not in done.err
    assert list(tmp_path.iterdir()) == []


def test_a_secret_given_on_the_command_line_stays_in_no_row(cli: Type, collection: Path) -> None:
    secret = "DATABASE_URL=postgres://me:hunter2@host/db"
    assert cli("add", "--bg", GOOD, "--config", secret).code == 2
    assert cli("config", "set", secret).code == 2
    for words in ("crawl create", "snapshot create", "schedule add --every daily"):
        assert "is a secret" in cli(*words.split(), GOOD, "--config", secret).err
    kept = b"".join(path.read_bytes() for path in collection.rglob("*") if path.is_file())
    assert b"hunter2" not in kept


def test_nothing_given_is_refused(cli: Type) -> None:
    done = cli("add")
    assert done.code == 2
    assert "https://example.com/" in done.err


@pytest.mark.database
def test_the_first_add_makes_the_collection_and_keeps_what_was_given(cli: Type, tmp_path: Path) -> None:
    done = cli("add", "--bg", "--tag", "reading, later", "--depth", "2", "--label", "mine", "--plugins", "wget", GOOD)
    assert "No link will be followed" in done.err
    assert done.code == 0
    crawl = done.record
    assert (crawl["type"], crawl["status"], crawl["max_depth"], crawl["label"]) == ("Crawl", "queued", 2, "mine")
    assert crawl["config"] == {"PLUGINS": ["wget"]}
    assert crawl["snapshots"] == 1
    assert (tmp_path / "data" / str(crawl["source"])).read_text() == f"{GOOD}\n"
    assert "Nothing is running here" in done.err
    snapshot = cli("list").record
    assert (snapshot["url"], snapshot["status"], snapshot["depth"]) == (GOOD, "queued", 0)
    assert sorted(map(str, snapshot["tags"])) == ["later", "reading"]  # type: ignore[call-overload]


@pytest.mark.usefixtures("collection")
def test_lines_of_stdin_are_taken_one_by_one(cli: Type) -> None:
    done = cli(
        "add", "--bg", stdin=b"# mine\nhttps://a.test/\nnot-a-url\njavascript:x\nhttps://b.test/\0\nhttps://c.test/\n"
    )
    assert done.code == 0
    refused, crawl = done.records[:-1], done.records[-1]
    assert [(line["line"], line["code"]) for line in refused] == [(3, "bad_url"), (4, "scheme_refused"), (5, "bad_url")]
    assert (crawl["snapshots"], crawl["refused"]) == (2, 3)
    assert {record["url"] for record in cli("list").records} == {"https://a.test/", "https://c.test/"}


def test_a_file_without_any_url_is_refused_as_a_whole(cli: Type, tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("not-a-url\njavascript:x\n")
    done = cli("add", "--bg", "--file", "list.txt")
    assert done.code == 2
    assert [record["line"] for record in done.records] == [1, 2]
    assert "Nothing in 2 lines" in done.err
    assert not (tmp_path / "data").exists()


@first_by_default(1, "content", [b"\x89PNG\r\n\x1a\n" + bytes(5_000), b"PK\x03\x04" + bytes(5_000), b""])
def test_a_file_that_is_no_text_is_refused(cli: Type, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "thing").write_bytes(content)
    done = cli("add", "--bg", "--file", "thing")
    assert done.code == 2
    assert "Traceback" not in done.err


@first_by_default(1, "words", [["--file"], ["--parser", "html", "--file"], ["--parser", "html", "-"]])
def test_html_that_would_take_minutes_to_read_is_refused(cli: Type, tmp_path: Path, words: list[str]) -> None:
    text = "<html>" + "<div>" * 300_000
    file = tmp_path / "deep.html"
    file.write_text(text)
    done = cli("add", "--bg", *words, *([] if "-" in words else [str(file)]), stdin=text)
    assert (done.code, "nested too deeply" in done.err) == (2, True), done.err


def test_a_bad_argument_refuses_itself_alone(cli: Type, tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("https://a.test/\n")
    done = cli("add", "--bg", "--file", "list.txt", "not-a-url", GOOD, long := f"{GOOD}?{'a' * 7_000}")
    assert done.code == 0
    refusal, crawl = done.records
    assert (refusal["type"], refusal["text"], str(crawl["urls"]).split()) == (
        "Refusal",
        "not-a-url",
        [GOOD, long, "https://a.test/"],
    )


@pytest.mark.slow
@pytest.mark.database
@pytest.mark.usefixtures("collection")
def test_a_hundred_thousand_lines_are_one_crawl(cli: Type, tmp_path: Path) -> None:
    (tmp_path / "many.txt").write_text("".join(f"https://example.com/{number}\n" for number in range(100_000)))
    done = cli("add", "--bg", "--file", "many.txt")
    assert done.code == 0
    assert done.record["snapshots"] == 100_000
    assert cli("status").record["snapshots"] == {"total": 100_000, "queued": 100_000}


@pytest.mark.database
@pytest.mark.usefixtures("collection")
def test_the_same_url_again_is_a_new_version_and_update_is_not(cli: Type) -> None:
    cli("add", "--bg", GOOD)
    cli("add", "--bg", GOOD)
    assert len(cli("list").records) == 2
    updated = cli("add", "--bg", "--update", GOOD, "https://other.test/")
    assert updated.record["snapshots"] == 1
    assert len(cli("list").records) == 3


@pytest.mark.database
def test_overwrite_removes_what_is_there_once_the_new_version_is_archived(cli: Type, collection: Path) -> None:
    hook = collection / "plugins" / "tiny" / "on_Snapshot__50_tiny.sh"
    hook.parent.mkdir()
    hook.write_text('#!/bin/sh\n[ -e "$DATA_DIR/down" ] && exit 1\necho said > said.txt\n')
    hook.chmod(0o755)

    def listed(*words: str) -> list[object]:
        return [record["id"] for record in cli("list", *words).records]

    cli("add", "--plugins=tiny", "--tag=kept,old", "--visibility=private", GOOD)
    (first,) = listed()
    cli("add", "--bg", "--overwrite", "--plugins=tiny", GOOD)
    assert first in listed(), "a page that waits takes nothing away"
    (collection / "down").touch()
    cli("run")
    assert first in listed(), "nor does one of which nothing was kept"
    (collection / "down").unlink()
    done = cli("add", "--overwrite", "--plugins=tiny", "--tag=new", GOOD)
    assert "removed once" in done.err
    (last,) = cli("list").records
    assert (last["url"], last["tags"], last["visibility"]) == (GOOD, ["kept", "new", "old"], "private")
    assert first in listed("--removed")
    assert cli("remove", "--undo", "--yes", str(first)).code == 0
    assert first in listed()


@pytest.mark.database
@pytest.mark.usefixtures("collection")
def test_index_only_writes_rows_that_nothing_runs(cli: Type) -> None:
    done = cli("add", "--index-only", GOOD)
    assert done.code == 0
    crawl = str(done.record["id"])
    assert done.record["status"] == "paused"
    assert "crawl resume" in done.err
    assert cli("run").code == 0
    assert cli("list").record["status"] == "queued"
    assert cli("crawl", "resume", crawl).record["status"] == "queued"


def test_data_dir_by_option_by_environment_and_by_being_inside(cli: Type, tmp_path: Path) -> None:
    assert cli("--data-dir", str(tmp_path / "one"), "add", "--bg", GOOD).code == 0
    assert cli("add", "--bg", GOOD, DATA_DIR=str(tmp_path / "two")).code == 0
    assert cli("list", cwd=tmp_path / "one").record["url"] == GOOD
    assert cli("list", "--data-dir", str(tmp_path / "two")).record["url"] == GOOD
    assert not (tmp_path / "data").exists()


@first_by_default(
    2, ("words", "depth"), [([], 1), (["--depth", "0"], 0), (["--config", "MAX_DEPTH=2"], 2), (["--depth", "3"], 3)]
)
@pytest.mark.usefixtures("collection")
def test_the_depth_is_that_of_the_option_else_of_the_setting(cli: Type, words: list[str], depth: int) -> None:
    assert cli("add", "--bg", *words, GOOD, MAX_DEPTH="1").record["max_depth"] == depth


@pytest.mark.usefixtures("collection")
def test_a_file_is_taken_without_an_option(cli: Type, tmp_path: Path) -> None:
    (tmp_path / "urls.txt").write_text(f"{GOOD}\nhttps://example.com/other\n")
    crawl = cli("add", "--bg", "urls.txt", "https://example.com/third").record
    assert crawl["snapshots"] == 3
    kept = (tmp_path / "data" / str(crawl["source"])).read_text()
    assert sorted(kept.split()) == ["https://example.com/other", GOOD, "https://example.com/third"]


def test_databases_of_browsers_are_lists_by_file_and_by_pipe(cli: Type, tmp_path: Path) -> None:
    places, other = made(tmp_path / "places.sqlite", PLACES), made(tmp_path / "x.db", "CREATE TABLE cookies (x)")
    assert cli("add", "--bg", "--file", str(places)).record["snapshots"] == 2
    found = {str(record["url"]): record for record in cli("list").records}
    assert (found["https://a.example/"]["title"], found["https://b.example/"]["title"]) == ("Hello, world", "Second")
    assert {*found["https://a.example/"]["tags"]} == {"design", "web tools", "Work", "Research"}  # type: ignore[misc]
    piped = cli("add", "--bg", "--parser", "history", "-", stdin=places.read_bytes())
    assert piped.record["snapshots"] == 2
    assert "https://visited.example/" in {record["url"] for record in cli("list").records}
    refused = cli("add", "--bg", str(other))
    assert (refused.code, "neither Firefox's places.sqlite" in refused.err) == (2, True)


def test_limits_of_a_crawl_are_its_settings(cli: Type, collection: Path) -> None:
    limits = ("--max-urls", "7", "--max-size", "1.5g", "--url-allowlist", "example", "--url-denylist", "logout")
    crawl = cli("add", "--bg", *limits, GOOD).record
    assert crawl["config"] == {
        "MAX_URLS": 7,
        "MAX_SIZE": 1_500_000_000,
        "URL_ALLOWLIST": "example",
        "URL_DENYLIST": "logout",
    }
    refused = cli("add", "--max-size", "much", GOOD)
    assert (refused.code, "is not a size such as 750m" in refused.err) == (2, True)
    assert collection.is_dir()


def test_nothing_begins_while_a_setting_is_not_allowed(cli: Type, collection: Path) -> None:
    refused = cli("add", GOOD, TIMEOUT="soon")
    assert (refused.code, "set as TIMEOUT in the environment" in refused.err) == (2, True)
    assert cli("snapshot", "list").records == []
    (collection / "ArchiveBox.conf").write_text("TIMEOUT = soon\n")
    for words in (["add", GOOD], ["run"]):
        refused = cli(*words)
        assert (refused.code, "set as TIMEOUT in ArchiveBox.conf" in refused.err) == (2, True)
    assert cli("config", "set", "TIMEOUT=30").code == 0


@pytest.mark.usefixtures("collection")
def test_plugins_of_an_option_that_is_given_twice_are_all_chosen(cli: Type) -> None:
    done = cli("add", "--bg", "--plugins", "wget,title", "--extract", "favicon", GOOD)
    assert done.record["config"] == {"PLUGINS": ["wget", "title", "favicon"]}
