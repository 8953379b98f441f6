"""Every search backend answers alike: one suite, in which each says only what it cannot do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from archivebox.plugins.base.searching import Text, UnavailableError
from archivebox.plugins.search_backend_sonic.sonic import Channel
from archivebox.plugins.search_backend_sqlite.index import Index
from tests.databases import own_database
from tests.plugins_bundled.search.sonic_server import SonicServer
from tests.suite.postgres import throw_away_cluster

PLUGINS = Path(__file__).parents[3] / "archivebox" / "plugins"
CHECKOUT = PLUGINS.parents[1]
SEARCH_TEXTS = [["readability", "*.txt"], ["htmltotext", "*.txt"], ["ytdlp", "*.vtt"]]
FIRST, SECOND, THIRD = (f"0190000{number}-0000-7000-8000-000000000000" for number in (1, 2, 3))


@dataclass(frozen=True)
class Engine:
    """A backend at work on a collection, asked as the application asks it."""

    name: str
    data: Path
    env: dict[str, str]
    knows_phrases: bool = True

    @property
    def keeps_an_index(self) -> bool:
        return self.name != "ripgrep"

    def folder(self, snapshot: str) -> Path:
        return self.data / "users" / "u" / "snapshots" / "20260101" / "example.com" / snapshot

    def write(self, snapshot: str, **texts: str) -> None:
        """Each text is named after its plugin."""
        for plugin, text in texts.items():
            path = self.folder(snapshot) / plugin / ("video.en.vtt" if plugin == "ytdlp" else f"{plugin}.txt")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def call(self, verb: str, *requests: dict[str, Any]) -> subprocess.CompletedProcess[str]:
        script = PLUGINS / f"search_backend_{self.name}" / SCRIPTS[self.name]
        lines = "".join(json.dumps(request) + "\n" for request in requests)
        return subprocess.run(
            [sys.executable, script, verb], input=lines, env=self.env, capture_output=True, text=True, check=False
        )

    def ask(self, verb: str, *requests: dict[str, Any]) -> list[dict[str, Any]]:
        done = self.call(verb, *requests)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    def index(self, *snapshots: str) -> list[dict[str, Any]]:
        return self.ask("index", *map(self.request, snapshots))

    def remove(self, snapshot: str) -> None:
        self.ask("remove", self.request(snapshot))

    def request(self, snapshot: str) -> dict[str, Any]:
        return {"snapshot": snapshot, "folder": str(self.folder(snapshot))}

    def find(self, *words: str, limit: int = 500) -> list[tuple[str, str]]:
        """Snapshot and plugin of each hit."""
        *hits, last = self.ask("query", {"words": list(words), "limit": limit})
        assert last == {"type": "Answered"}
        return [(hit["snapshot"], hit["plugin"]) for hit in hits]

    def find_each(self, *questions: str) -> list[list[tuple[str, str]]]:
        """The same for each question, of one process."""
        answers: list[list[tuple[str, str]]] = [[]]
        for hit in self.ask("query", *({"words": [words], "limit": 500} for words in questions)):
            if hit["type"] == "Answered":
                answers.append([])
            else:
                answers[-1].append((hit["snapshot"], hit["plugin"]))
        return answers[:-1]


SCRIPTS = {"sqlite": "index.py", "postgresql": "fulltext.py", "ripgrep": "scan.py", "sonic": "sonic.py"}
ENGINES = tuple(SCRIPTS)
LIKE_SQLITE = ("sqlite", "postgresql")
"""Engines that find the same for every question."""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The URL of a PostgreSQL."""
    with throw_away_cluster() as url:
        yield url


def server_of(request: pytest.FixtureRequest) -> str:
    """The same, where the engine needs one."""
    return str(request.getfixturevalue("server")) if request.param == "postgresql" else ""


@contextmanager
def at_work(name: str, data: Path, url: str = "") -> Iterator[Engine]:
    (data / "users").mkdir()
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(CHECKOUT), "DATA_DIR": str(data)}
    env |= {"SEARCH_TEXTS": json.dumps(SEARCH_TEXTS), "SEARCH_BACKEND_RIPGREP_BINARY": "rg"}
    if name == "postgresql":
        yield Engine(name, data, env | {"SEARCH_BACKEND_POSTGRESQL_URL": own_database(url)})
        return
    if name != "sonic":
        yield Engine(name, data, env)
        return
    with SonicServer() as server:
        yield Engine(name, data, env | {"SEARCH_BACKEND_SONIC_PORT": str(server.port)}, knows_phrases=False)


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    with at_work(request.param, tmp_path, server_of(request)) as engine:
        yield engine


@pytest.fixture(scope="module", params=ENGINES)
def one_page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Only asked; its texts stay as they are."""
    with at_work(request.param, tmp_path_factory.mktemp("collection"), server_of(request)) as engine:
        engine.write(
            FIRST,
            htmltotext="Ripe pears and apples.\nThe café is in 東京都庁 and 한국어로 씁니다.\nสวัสดีชาวโลก in C++.",
            ytdlp="WEBVTT\n\n00:01.000 --> 00:02.000\nspoken plums\n",
            screenshot="unsearched figs",
        )
        engine.index(FIRST)
        yield engine


def test_a_hit_says_in_which_file_of_which_plugin_the_words_are(one_page: Engine) -> None:
    hits = one_page.ask("query", {"words": ["plums"], "limit": 10})
    assert hits[:-1] == [{"type": "Hit", "snapshot": FIRST, "plugin": "ytdlp", "file": "video.en.vtt"}]


def test_every_word_has_to_be_in_the_text(one_page: Engine) -> None:
    assert one_page.find("PEARS", "apples") == [(FIRST, "htmltotext")]
    assert one_page.find("pears", "plums") == []
    assert one_page.find("pear") == []
    assert one_page.find("figs") == [], "no plugin calls that text"


def test_words_are_found_where_none_are_parted_by_spaces(one_page: Engine) -> None:
    words = ("東京", "京都", "庁", "東京都庁", "한국", "국어로", "สวัสดี", "โลก")
    assert one_page.find_each(*words) == [[(FIRST, "htmltotext")]] * len(words)


def test_what_the_engine_cannot_do_is_known(one_page: Engine) -> None:
    assert bool(one_page.find("cafe")) == (one_page.name in LIKE_SQLITE)
    assert bool(one_page.find("京東")) == (not one_page.knows_phrases), "both characters are there, not in this order"
    assert bool(one_page.find("apples ripe")) == (not one_page.knows_phrases)
    assert one_page.find("pears and apples") == [(FIRST, "htmltotext")]


def test_signs_in_a_question_are_no_commands(one_page: Engine) -> None:
    assert one_page.find('pears" OR "plums', "AND") == []
    assert one_page.find("C++") == [(FIRST, "htmltotext")]
    assert one_page.find("++") == one_page.find('"') == one_page.find("") == []


def test_text_that_changed_or_is_gone_is_found_no_more(engine: Engine) -> None:
    engine.write(FIRST, htmltotext="pears")
    engine.write(SECOND, htmltotext="pears", readability="pears and plums")
    engine.index(FIRST, SECOND)
    assert sorted(engine.find("pears")) == [(FIRST, "htmltotext"), (SECOND, "htmltotext"), (SECOND, "readability")]
    engine.write(FIRST, htmltotext="quinces")
    assert engine.index(FIRST) == [{"type": "Indexed", "snapshot": FIRST, "texts": 1}]
    assert {page for page, _ in engine.find("pears")} == {SECOND}
    assert engine.find("quinces") == [(FIRST, "htmltotext")]
    engine.remove(SECOND)
    engine.remove(SECOND)
    if engine.keeps_an_index:
        assert engine.find("pears") == []
        engine.ask("flush")
        assert engine.find("quinces") == []


def test_a_page_without_text_is_no_trouble(engine: Engine) -> None:
    engine.write(THIRD, htmltotext=" \n")
    assert engine.find("anything") == []
    (answer,) = engine.index(THIRD)
    assert answer["texts"] == 0


def test_a_long_text_is_found_by_its_last_word(engine: Engine) -> None:
    engine.write(FIRST, htmltotext="word " * 5_000 + '"quoted" back\\slash ' + "x" * 3_000 + " last")
    engine.index(FIRST)
    assert engine.find("word", "quoted", "last") == [(FIRST, "htmltotext")]


def test_what_two_plugins_found_alike_is_one_text(engine: Engine) -> None:
    engine.write(FIRST, htmltotext="the same", readability="the same", ytdlp="another")
    assert engine.index(FIRST)[0]["texts"] == 2


# --- SQLite and PostgreSQL ---------------------------------------------------------------------------------------


@pytest.fixture(params=LIKE_SQLITE)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    with at_work(request.param, tmp_path, server_of(request)) as engine:
        yield engine


def test_many_write_to_the_index_at_a_time(database: Engine) -> None:
    """Eight processes that begin with no index at all; each closes the file, which is what SQLite locks it for."""
    pages = [f"0190{number:04}-0000-7000-8000-000000000000" for number in range(32)]
    for page in pages:
        database.write(page, htmltotext=f"shared words of {page}. " * 2_000)
    with ThreadPoolExecutor(8) as pool:
        ended = list(pool.map(lambda page: database.call("index", database.request(page)), pages))
    assert {(done.returncode, done.stderr) for done in ended} == {(0, "")}
    assert len(database.find("shared")) == len(pages)


def test_the_beginning_of_a_word_is_found(database: Engine) -> None:
    database.write(FIRST, htmltotext="archives of 東京都")
    database.index(FIRST)
    for words in ("archiv*", "東京*", "archives o*"):
        assert database.find(words) == [(FIRST, "htmltotext")]
    assert database.find("rchiv*") == database.find("archi") == []


WORDS = Path(__file__).parent / "words_of_many_scripts.txt"
"""A text, and a line of words to look for in it, parted by bars."""


def test_both_find_the_same_words_in_every_script(server: str, tmp_path: Path) -> None:
    text, questions = WORDS.read_text().splitlines()
    answers = []
    for name in LIKE_SQLITE:
        (data := tmp_path / name).mkdir()
        with at_work(name, data, server) as engine:
            engine.write(FIRST, htmltotext=text)
            engine.index(FIRST)
            words = questions.split("|")
            answers.append(dict(zip(words, map(bool, engine.find_each(*words)), strict=True)))
    assert answers[0] == answers[1]
    assert set(answers[0].values()) == {True, False}


def test_words_are_found_together_however_far_apart_in_a_long_text(database: Engine) -> None:
    numbers = " ".join(f"n{number}" for number in range(30_000))
    database.write(FIRST, htmltotext=f"pears {numbers} plums")
    database.write(SECOND, htmltotext="pears")
    database.index(FIRST, SECOND)
    assert database.find("pears", "plums") == [(FIRST, "htmltotext")]
    assert database.find("pears", "n15000", "n299*") == [(FIRST, "htmltotext")]
    seams = [" ".join(f"n{number}" for number in range(first, first + 60)) for first in range(3_850, 4_020, 10)]
    assert database.find_each(*seams) == [[(FIRST, "htmltotext")]] * len(seams)
    assert database.find("n29999 n0") == []


def test_the_best_text_comes_first(database: Engine) -> None:
    other = "something else that is said at length " * 20
    database.write(FIRST, htmltotext="pears and plums, pears and more pears")
    database.write(SECOND, htmltotext=f"{other} pears {other} plums")
    database.write(THIRD, htmltotext=f"pears plums, {other}")
    database.index(FIRST, SECOND, THIRD)
    assert [page for page, _ in database.find("pears", "plums")] == [FIRST, THIRD, SECOND]
    assert len(database.find("pears", limit=2)) == 2


# --- SQLite alone ------------------------------------------------------------------------------------------------


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[Engine]:
    with at_work("sqlite", tmp_path) as engine:
        yield engine


def test_a_broken_index_is_said_and_made_anew(sqlite: Engine) -> None:
    (sqlite.data / "search.sqlite3").write_bytes(b"SQLite format 3\0" + b"broken" * 1_000)
    done = sqlite.call("query", {"words": ["x"], "limit": 1})
    assert done.returncode == 1
    assert "archivebox manage reindex" in done.stderr
    sqlite.write(FIRST, htmltotext="pears")
    sqlite.ask("flush")
    sqlite.index(FIRST)
    assert sqlite.find("pears") == [(FIRST, "htmltotext")]


def test_a_search_that_takes_too_long_is_interrupted(tmp_path: Path) -> None:
    index = Index({"DATA_DIR": str(tmp_path), "SEARCH_BACKEND_SQLITE_TIMEOUT": "0.001"})
    index.index(FIRST, tmp_path, [Text("htmltotext", f"{number}.txt", "pears") for number in range(3_000)])
    with pytest.raises(UnavailableError, match="raise SEARCH_BACKEND_SQLITE_TIMEOUT"):
        index.query(["pears"], 1_000)


# --- PostgreSQL alone --------------------------------------------------------------------------------------------


def test_a_collection_that_has_sqlites_index_is_told_to_reindex(server: str, tmp_path: Path) -> None:
    with at_work("postgresql", tmp_path, server) as engine:
        (tmp_path / "search.sqlite3").touch()
        engine.write(FIRST, htmltotext="pears")
        engine.index(FIRST)
        done = engine.call("query", {"words": ["pears"], "limit": 1})
        assert (done.returncode, "archivebox manage reindex" in done.stderr) == (1, True)
        engine.ask("flush")
        engine.index(FIRST)
        assert engine.find("pears") == [(FIRST, "htmltotext")]


def test_a_database_that_does_not_answer_is_a_sentence(tmp_path: Path) -> None:
    with at_work("ripgrep", tmp_path) as engine:
        unset = replace(engine, name="postgresql")
        away = replace(unset, env=engine.env | {"SEARCH_BACKEND_POSTGRESQL_URL": f"postgres://a@/a?host={tmp_path}"})
        said = [one.call("query", {"words": ["x"], "limit": 1}).stderr for one in (unset, away)]
    assert said[0] == "The engine postgresql needs a PostgreSQL: set DATABASE_URL to one\n"
    assert said[1].startswith("PostgreSQL does not answer (connection")
    assert len(said[1].splitlines()) == 1


# --- Sonic alone -------------------------------------------------------------------------------------------------


def test_objects_of_others_in_the_bucket_are_passed_over(tmp_path: Path) -> None:
    with at_work("sonic", tmp_path) as engine:
        engine.write(FIRST, htmltotext="pears")
        engine.index(FIRST)
        with Channel("127.0.0.1", int(engine.env["SEARCH_BACKEND_SONIC_PORT"]), "SecretPassword", "ingest") as channel:
            channel.push("archivebox snapshots 4f2e", "pears")
        assert engine.find("pears") == [(FIRST, "htmltotext")]


def test_no_server_is_a_sentence(tmp_path: Path) -> None:
    with at_work("sonic", tmp_path) as engine:
        unreachable = replace(engine, env=engine.env | {"SEARCH_BACKEND_SONIC_PORT": "1"})
        done = unreachable.call("query", {"words": ["x"], "limit": 1})
    assert done.returncode == 1
    assert done.stderr.startswith("Sonic does not answer at localhost:1 (Connection refused): start it")
