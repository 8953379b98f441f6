"""Owns what an assistant may do with the collection: search it, read a page's text, add pages, see how things are."""

import os
from collections.abc import Mapping
from uuid import UUID

from django.db.models import Count

from archivebox.base_models.visibility import EVERYTHING
from archivebox.cli.mcp.protocol import Tool, ToolError
from archivebox.contract.formats import best_of
from archivebox.core.intake.request import ASSISTANT, CrawlRequest, RequestRefusedError
from archivebox.core.intake.submit import submit
from archivebox.core.snapshot import Snapshot
from archivebox.crawls.crawl import Crawl
from archivebox.hooks import outputs_of
from archivebox.lib import jsonl
from archivebox.lib.jsonl import JSON
from archivebox.replay.files import NotThereError
from archivebox.replay.folders import open_page_file
from archivebox.search.backend import SearchUnavailableError
from archivebox.search.finding import find
from archivebox.search.query import QueryError, chosen
from archivebox.workers.queue.readiness_check import orchestrator_is_running

MOST_FOUND = 50
MOST_TEXT = 100_000
"""Bytes of a page's text that one answer holds; the next begins where it ended."""


def search(arguments: Mapping[str, JSON]) -> str:
    limit = _number(arguments, "limit", 10, MOST_FOUND)
    try:
        found = find(chosen(str(arguments["query"]), EVERYTHING), limit)
    except (QueryError, SearchUnavailableError) as problem:
        raise ToolError(str(problem)) from None
    pages: list[JSON] = [
        {**_page(one.snapshot), "matches": [f"{match.where}: {match.snippet}" for match in one.matches]}
        for one in found
    ]
    return jsonl.text({"pages": pages})


def text(arguments: Mapping[str, JSON]) -> str:
    snapshot = _find(str(arguments["snapshot"]))
    best = best_of(list(snapshot.archiveresult_set.all()), outputs_of, "text")
    file = best.file if best is not None else None
    if best is None or file is None:
        raise ToolError("No text was kept of this page.")
    start = _number(arguments, "start", 0, 2**31)
    data, size = _read(snapshot, (best.plugin, *file.name.split("/")), start)
    after = start + len(data)
    said: dict[str, JSON] = {**_page(snapshot), "text": data.decode("utf-8", "replace")}
    return jsonl.text({**said, "next": after if after < size else None})


def add(arguments: Mapping[str, JSON]) -> str:
    given = arguments["urls"]
    urls = [str(url) for url in given] if isinstance(given, list) else [str(given)]
    depth = _number(arguments, "depth", 0, ASSISTANT.max_depth)
    request = CrawlRequest(urls=urls, depth=depth, label="added by an assistant")
    try:
        crawl = submit(request, ASSISTANT).made
    except RequestRefusedError as error:
        raise ToolError(str(error)) from None
    pages: list[JSON] = [_page(one) for one in crawl.snapshot_set.order_by("id")]
    said: dict[str, JSON] = {"crawl": str(crawl.pk), "visibility": crawl.visibility}
    return jsonl.text({**said, "pages": pages, "at_work": orchestrator_is_running()})


def status(arguments: Mapping[str, JSON]) -> str:
    del arguments
    pages = dict(Snapshot.objects.kept().order_by().values_list("status").annotate(Count("id")))
    crawls = Crawl.objects.open().count()
    return jsonl.text({"snapshots": pages, "open_crawls": crawls, "at_work": orchestrator_is_running()})


def _page(snapshot: Snapshot) -> dict[str, JSON]:
    facts = {"id": str(snapshot.pk), "url": snapshot.url, "title": snapshot.title, "status": snapshot.status}
    return {**facts, "archived_at": snapshot.created_at.isoformat()}


def _find(text: str) -> Snapshot:
    """By id, or the latest version of a URL."""
    rows = Snapshot.objects.kept()
    if "://" in text:
        rows = rows.of_url(text)
    else:
        try:
            rows = rows.filter(pk=UUID(text))
        except ValueError:
            raise ToolError(f"{text!r} is neither an id nor a URL.") from None
    found: Snapshot | None = rows.first()
    if found is None:
        raise ToolError(f"There is no snapshot {text}. Use `search` to find snapshots.")
    return found


def _read(snapshot: Snapshot, path: tuple[str, ...], start: int) -> tuple[bytes, int]:
    """A part of a file, and the size of all of it; links are not followed."""
    try:
        opened = open_page_file(snapshot, path)
    except NotThereError:
        raise ToolError("The text is no longer there.") from None
    try:
        return os.pread(opened.descriptor, MOST_TEXT, start), opened.size
    finally:
        os.close(opened.descriptor)


def _number(arguments: Mapping[str, JSON], name: str, default: int, most: int) -> int:
    value = arguments.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise ToolError(f"{name} is a number from 0 to {most}.")
    return value


TOOLS = {
    "search": Tool(
        "Find archived pages by words in their texts, titles, URLs and tags, or by a query such as "
        "`pears host:example.org #fruit after:2025`. Shows where the words were found.",
        {"query": {"type": "string"}, "limit": {"type": "integer", "minimum": 1, "maximum": MOST_FOUND}},
        ("query",),
        search,
    ),
    "text": Tool(
        "The text of one archived page, in parts: `next` is the `start` of the next one.",
        {
            "snapshot": {"type": "string", "description": "Its id, or a URL: then its latest version"},
            "start": {"type": "integer", "minimum": 0},
        },
        ("snapshot",),
        text,
    ),
    "add": Tool(
        "Archive pages permanently, starting now. The answer says who sees them, as the setting VISIBILITY decides: "
        "public, members (who is logged in) or private (nobody but administrators).",
        {
            "urls": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": ASSISTANT.max_urls},
            "depth": {
                "type": "integer",
                "minimum": 0,
                "maximum": ASSISTANT.max_depth,
                "description": "Links to follow",
            },
        },
        ("urls",),
        add,
        changes=True,
    ),
    "status": Tool("How many pages there are, and whether anything is being archived now.", {}, (), status),
}
