"""Searching texts as the web server does: the engine of SQLite, beside that of PostgreSQL.

`PAGES` pages of 400 words; a search is everything from the words to the keys of pages, in this process.
"""

import os
import random
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from uuid import UUID

from archivebox.hooks import forget_environment
from archivebox.plugins.base.searching import Backend, Text
from archivebox.plugins.search_backend_postgresql.fulltext import PostgresIndex
from archivebox.plugins.search_backend_sqlite.index import Index
from archivebox.search.backend import SearchBackend, chosen_backend
from archivebox.search.query.selection import HITS_TOGETHER, MOST_HITS
from benchmarks.finding import Bound, Finding, interleaved
from tests.suite.postgres import throw_away_cluster

PAGES = int(os.environ.get("PAGES", "100000"))
WORDS = 400
"""Of a page; drawn as a language draws them: the word at place n of the vocabulary is 1/n as frequent as the first."""
VOCABULARY = 50_000
A_WORD = 20
"""Milliseconds of this process, at p95, for a word however frequent."""
SOME_WORDS = [f"w{place}" for place in (3, 10, 30, 100, 300, 1_000, 3_000, 10_000, 20_000, 40_000)]
QUESTIONS: dict[str, Sequence[str]] = {
    "two words": ["w300", "w2000"],
    "a phrase": ["w5 w9"],
    "the beginning of a word": ["w123*"],
}


def run(rounds: int) -> Iterator[Finding]:
    """CPU of this process for SQLite, so that others who work here do not count; PostgreSQL has its own processes."""
    with _engines() as (sqlite, postgresql):
        PostgresIndex().flush()
        floor, ours = _index(Index()), _index(PostgresIndex())
        yield Finding(f"index {PAGES:,} pages of {WORDS} words", "s", Bound.RATIO, 3, [ours], [floor], "FTS5")
        words = [[(word,)] for word in SOME_WORDS]
        yield _at_most("find a word", words, A_WORD, rounds, sqlite)
        fifty = [[(f"w{place}",) for place in range(first, 40_000, 800)] for first in (3, 30, 300)]
        yield _at_most("find 50 words with OR", fifty, 10 * A_WORD, rounds, sqlite)
        for name, together in {"a word": SOME_WORDS[5:6], **QUESTIONS}.items():
            yield _beside(f"find {name}", together, rounds, sqlite, postgresql)


def _ask(backend: SearchBackend, groups: Sequence[Sequence[str]]) -> int:
    share = min(MOST_HITS, HITS_TOGETHER // len(groups))
    return sum(map(len, backend.query([(words, share) for words in groups])))


def _at_most(
    name: str, questions: Sequence[Sequence[Sequence[str]]], bound: float, rounds: int, backend: SearchBackend
) -> Finding:
    finding = Finding(name, "ms", Bound.MOST, bound, [], quantile=0.95)
    for groups in [*questions[:1], *(list(questions) * rounds)]:
        began = time.process_time()
        finding.notes["hits of the last"] = float(_ask(backend, groups))
        finding.ours.append((time.process_time() - began) * 1_000)
    return replace(finding, ours=finding.ours[1:])  # the first imports the engine


def _beside(name: str, words: Sequence[str], rounds: int, sqlite: SearchBackend, postgresql: SearchBackend) -> Finding:
    taken: dict[str, list[float]] = {"sqlite": [], "postgresql": []}
    hits: dict[str, float | str] = {}

    def ask(one: SearchBackend) -> None:
        began = time.perf_counter()
        hits[f"hits {one.engine}"] = float(_ask(one, [words]))
        taken[one.engine].append((time.perf_counter() - began) * 1_000)

    interleaved(rounds, lambda: ask(sqlite), lambda: ask(postgresql))
    return Finding(name, "ms", Bound.BEYOND, 300, taken["postgresql"], taken["sqlite"], "FTS5", notes=hits)


@contextmanager
def _engines() -> Iterator[tuple[SearchBackend, SearchBackend]]:
    with throw_away_cluster() as url:
        os.environ["SEARCH_BACKEND_POSTGRESQL_URL"] = url
        yield _chosen("sqlite"), _chosen("postgresql")


def _chosen(engine: str) -> SearchBackend:
    os.environ["SEARCH_BACKEND_ENGINE"] = engine
    forget_environment()
    backend = chosen_backend()
    if backend is None:
        raise LookupError(engine)
    return backend


def _index(engine: Backend) -> float:
    """Index the pages, the same words each time; returns the seconds."""
    draw = random.Random(20)
    frequencies = list(accumulate(1 / place for place in range(1, VOCABULARY + 1)))
    began = time.perf_counter()
    for number in range(PAGES):
        words = draw.choices(range(VOCABULARY), cum_weights=frequencies, k=WORDS)
        text = Text("dom", "text.txt", " ".join(f"w{word}" for word in words))
        engine.index(str(UUID(int=(0x0190 << 112) + number)), Path(), [text])
    engine.close()
    return time.perf_counter() - began
