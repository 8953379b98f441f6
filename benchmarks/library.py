"""How long the Library takes to answer with 60 cards of a million Snapshots, and each of its queries for itself.

The cards are full: every page has a dozen results with their files, and a tag. The peer is the bare query for the rows.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import connection
from django.test import Client

from archivebox.base_models.bulk_write import insert_rows
from archivebox.base_models.rows import new_id
from archivebox.base_models.visibility import EVERYTHING
from archivebox.core.archiveresult import ArchiveResult
from archivebox.core.intake.add_urls import create_crawl
from archivebox.core.intake.request import CrawlRequest, Seed
from archivebox.core.snapshot import Snapshot
from archivebox.search.facets import MOST_EXACT, facets
from archivebox.search.query import chosen, select
from benchmarks.finding import Bound, Finding, interleaved
from benchmarks.queue_rows import crawl, fill, settle

NEWEST = 2_000
"""Pages with results and tags, on top of the million."""
QUERIES = ("", "#bench", "host:host000007.example", "type:page", "is:failed", "before:2000")
CALLS = 5
PLUGINS: dict[str, dict[str, str]] = {
    "screenshot": {"screenshot.png": "image/png", "thumbnail.webp": "image/webp"},
    "singlefile": {"singlefile.html": "text/html"}, "pdf": {"output.pdf": "application/pdf"},
    "favicon": {"favicon.ico": "image/vnd.microsoft.icon"}, "article": {"article.html": "text/html"},
    "responses": {"index.jsonl": "application/x-ndjson"}, "htmltotext": {"text.txt": "text/plain"},
    "dom": {"output.html": "text/html"}, "headers": {"headers.json": "application/json"},
    "hashes": {"hashes.json": "application/json"}, "title": {"title.txt": "text/plain"},
    "ssl": {"ssl.json": "application/json"},
}  # fmt: skip


def run(rounds: int) -> list[Finding]:
    """SQLite, without ANALYZE, which a collection does not ask for either; and the app in this process: no network."""
    million = crawl()
    fill(million, 1, 1_000_000, 1_000)
    settle([million])
    Snapshot.objects.filter(crawl=million).update(status="sealed", mime_type="text/html")
    _newest(NEWEST)
    client = Client(HTTP_HOST="localhost")
    client.force_login(User.objects.get(username="bench"))
    return [finding for query in QUERIES for finding in measure(client, query, rounds)]


def facets_of_a_search(rounds: int) -> list[Finding]:
    """The choices of a search that finds as many pages as are counted exactly, and of a library that has no more."""
    _newest(MOST_EXACT)
    return [_exact(query, rounds) for query in ("", "#bench", "type:page", "page")]


def _exact(query: str, rounds: int) -> Finding:
    """In ms of CPU, so that others who work here do not count: SQLite is in this process, and waits for nobody."""
    finding = Finding(f"facets, {query or 'everything'}", "ms", Bound.MOST, 50, [])
    for _ in range(rounds * CALLS):
        start = time.process_time()
        found = facets(chosen(query, EVERYTHING))
        finding.ours.append((time.process_time() - start) * 1000)
    if {choice.count for facet in found if facet.title == "Type" for choice in facet.choices} != {MOST_EXACT}:
        raise LookupError(f"{query!r} does not find {MOST_EXACT} pages")
    return finding


def _newest(count: int) -> None:
    user = User.objects.create_superuser("bench")
    seeds = [Seed(f"https://fresh{n % 50}.example/{n}", f"Page {n}", ("bench",)) for n in range(count)]
    made = create_crawl(seeds, CrawlRequest(hold=True), created_by=user)
    keys = list(Snapshot.objects.filter(crawl=made).values_list("pk", flat=True))
    Snapshot.objects.filter(crawl=made).update(status="sealed", mime_type="text/html", http_status=200)
    rows = ((new_id(), _result(key, plugin, number)) for number, key in enumerate(keys) for plugin in PLUGINS)
    insert_rows(ArchiveResult, rows)


def _result(snapshot: Any, plugin: str, number: int) -> dict[str, Any]:
    files = {name: {"size": 4_000, "mimetype": mimetype} for name, mimetype in PLUGINS[plugin].items()}
    failed = plugin == "ssl" and number % 10 == 0
    return {
        "snapshot_id": snapshot, "plugin": plugin, "hook_name": f"on_Snapshot__50_{plugin}.py", "retry_at": None,
        "status": "failed" if failed else "succeeded", "reason": "crashed" if failed else "", "pwd": "",
        "output_files": {} if failed else files, "output_size": 0 if failed else 4_000,
    }  # fmt: skip


def measure(client: Client, query: str, rounds: int) -> list[Finding]:
    shown = query or "everything"
    whole = Finding(f"library, {shown}", "ms", Bound.MOST, 50, [], floor_name="the rows alone")
    slowest = Finding(f"library, {shown}: its slowest query", "ms", Bound.MOST, 1, [])
    size = 0

    def ours() -> None:
        nonlocal size
        for _ in range(CALLS):
            with timed() as queries:
                start = time.perf_counter()
                answer = client.get("/", {"q": query})
                whole.ours.append((time.perf_counter() - start) * 1000)
            size = len(answer.content)
            slowest.ours.append(max(queries))
            whole.notes["queries"] = len(queries)
            if answer.content.count(b"data-row=") != 60:
                raise LookupError(f"{query!r} has no 60 cards")

    def plain() -> None:
        for _ in range(CALLS):
            start = time.perf_counter()
            list(select(query, EVERYTHING).order_by("-pk")[:60])
            whole.floor.append((time.perf_counter() - start) * 1000)

    client.get("/")  # templates are read, facets counted
    interleaved(rounds, plain, ours)
    whole.notes["kB"] = round(size / 1000)
    if not query:
        return [whole, slowest, _facets(client)]
    return [whole, slowest]


def _facets(client: Client) -> Finding:
    """The first of every half minute counts the facets, too."""
    finding = Finding("library, everything, facets counted anew", "ms", Bound.MOST, 200, [])
    for _ in range(CALLS):
        cache.clear()
        start = time.perf_counter()
        client.get("/")
        finding.ours.append((time.perf_counter() - start) * 1000)
    return finding


@contextmanager
def timed() -> Iterator[list[float]]:
    """How long each query takes until its first row is there, in ms; the others are read while cards are made."""
    times: list[float] = []

    def timed(execute: Callable[..., Any], sql: str, parameters: Any, many: bool, context: dict[str, Any]) -> Any:
        start = time.perf_counter()
        try:
            return execute(sql, parameters, many, context)
        finally:
            times.append((time.perf_counter() - start) * 1000)

    with connection.execute_wrapper(timed):
        yield times
