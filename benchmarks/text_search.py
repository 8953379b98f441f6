"""The text index of PostgreSQL against that of SQLite: to index pages, and to answer questions."""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from archivebox.contract.discovery import BUNDLED
from benchmarks.finding import Bound, Finding, interleaved
from tests.suite.postgres import throw_away_cluster

PAGES = int(os.environ.get("PAGES", "20000"))
WORDS = 400
"""Of a page; drawn as a language draws them: the word at place n of the vocabulary is 1/n as frequent as the first."""
VOCABULARY = 50_000
QUESTIONS: dict[str, Sequence[str]] = {
    "a rare word": ["w40000"],
    "two words": ["w300", "w2000"],
    "a phrase": ["w5 w9"],
    "the beginning of a word": ["w123*"],
    "a word of most pages": ["w3"],
}


@dataclass(frozen=True, slots=True)
class Asked:
    """One engine, and the seconds it took."""

    engine: str
    env: dict[str, str]

    def call(self, verb: str, requests: str) -> tuple[float, str]:
        script = BUNDLED / f"search_backend_{self.engine}" / "search.py"
        began = time.perf_counter()
        done = subprocess.run(
            [sys.executable, script, verb], input=requests, env=self.env, check=True, text=True, stdout=subprocess.PIPE
        )
        return time.perf_counter() - began, done.stdout


def run(rounds: int) -> Iterator[Finding]:
    with tempfile.TemporaryDirectory() as folder, _engines(Path(folder)) as (sqlite, postgresql):
        pages = _write(Path(folder))
        ours, floor = postgresql.call("index", pages)[0], sqlite.call("index", pages)[0]
        name = f"index {PAGES:,} pages of {WORDS} words"
        yield Finding(name, "s", Bound.RATIO, 3, [ours], [floor], "FTS5")
        for name, words in QUESTIONS.items():
            yield _question(name, words, rounds, sqlite, postgresql)


def _question(name: str, words: Sequence[str], rounds: int, sqlite: Asked, postgresql: Asked) -> Finding:
    taken: dict[str, list[float]] = {"sqlite": [], "postgresql": []}
    hits: dict[str, float | str] = {}

    def ask(one: Asked) -> None:
        seconds, answer = one.call("query", json.dumps({"words": words, "limit": 1_000}))
        taken[one.engine].append(seconds * 1_000)
        hits[f"hits {one.engine}"] = float(answer.count("\n"))

    interleaved(rounds, lambda: ask(sqlite), lambda: ask(postgresql))
    ours, floor = taken["postgresql"], taken["sqlite"]
    return Finding(f"find {name}", "ms", Bound.BEYOND, 300, ours, floor, "FTS5", notes=hits)


@contextmanager
def _engines(folder: Path) -> Iterator[tuple[Asked, Asked]]:
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(BUNDLED.parents[1]), "DATA_DIR": str(folder)}
    env["SEARCH_TEXTS"] = json.dumps([["dom", "*.txt"]])
    with throw_away_cluster() as url:
        (folder / "pg").mkdir()
        away = {"DATA_DIR": str(folder / "pg"), "SEARCH_BACKEND_POSTGRESQL_URL": url}
        yield Asked("sqlite", env), Asked("postgresql", env | away)


def _write(folder: Path) -> str:
    """The pages, as requests; the same words each time."""
    draw = random.Random(20)
    weights = [1 / place for place in range(1, VOCABULARY + 1)]
    lines = []
    for number in range(PAGES):
        page = folder / f"page{number}"
        (page / "dom").mkdir(parents=True)
        words = draw.choices(range(VOCABULARY), weights, k=WORDS)
        (page / "dom" / "text.txt").write_text(" ".join(f"w{word}" for word in words))
        lines.append(json.dumps({"snapshot": f"0190{number:04x}-0000-7000-8000-000000000000", "folder": str(page)}))
    return "\n".join(lines)
