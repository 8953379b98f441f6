"""Lists have what was asked for of their columns, in the order and format that was asked for."""

from datetime import UTC, datetime

import click
import pytest

from archivebox.core.models import ArchiveResult, Snapshot, Tag
from archivebox.core.tags.assign_tags import tag
from archivebox.crawls.models import Crawl
from archivebox.storage.layout import DataFolder
from tests.factories import crawl, row
from tests.unit.cli.typed import typed

A, B, C = "https://a.test/one.html", "https://b.test/two", "https://c.test:8000/three.pdf"


@pytest.fixture
def pages(collection: DataFolder) -> dict[str, Snapshot]:  # noqa: ARG001 - rows are made in it
    """Three pages of three crawls, each a little different."""
    for url in (A, B, C):
        crawl(url)
    Snapshot.objects.filter(url=A).update(title="Pears", size=30, http_status=200)
    for status in ("started", "sealed"):
        Snapshot.objects.filter(url=A).update(status=status)
    Snapshot.objects.filter(url=B).update(title="apples", size=10, http_status=404, mime_type="text/html")
    Snapshot.objects.filter(url=C).update(
        title="=1+1, <b>", size=20, bookmarked_at=datetime(2024, 6, 1, 12, 0, 0, 250_000, tzinfo=UTC)
    )
    found = {page.url: page for page in Snapshot.objects.all()}
    tag([found[A].pk, found[B].pk], ["news"])
    return found


@pytest.mark.parametrize(
    ("words", "urls"),
    [
        ("", [C, B, A]), ("--url__icontains=TEST/", [B, A]), ("--url https://a.test/one.html", [A]),
        ("--url__in https://a.test/one.html,https://b.test/two", [B, A]), ("--title__istartswith pe", [A]),
        ("--title__iexact APPLES", [B]), ("--http-status 404", [B]),
        ("--http_status__gte 200 --http_status__lt 300", [A]), ("--size__in 10,20", [C, B]),
        ("--bookmarked_at__lt 2024-06-02", [C]), ("--created_at__gte 1d", [C, B, A]), ("--before 1717243200", []),
        ("--after 1717243200.5", [C, B, A]), ("--filter-type=substring test/ three", [C, B, A]),
        ("--filter-type=exact https://a.test/one.html", [A]), ("--filter-type=domain c.test b.test", [C, B]),
        ("--filter-type=regex A\\.test/|two$", [B, A]), ("--filter-type=tag NEWS other", [B, A]),
        ("--filter-type=timestamp 1717243200.25", [C]), ("--status indexed", [C, B, A]), ("--status archived", [A]),
        ("--status unarchived", [C, B]), ("--tag news --title__icontains e", [B, A]), ("--sort url", [A, B, C]),
        ("--sort -url --limit 2", [C, B]), ("--sort oldest", [A, B, C]), ("--sort timestamp", [C, A, B]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("command", ["list", "snapshot list"])
def test_pages_are_listed_by_every_column(
    pages: dict[str, Snapshot], command: str, words: str, urls: list[str]
) -> None:
    assert len(pages) == 3
    assert typed(f"{command} {words}").urls == urls


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("list --sort colour", "no order by 'colour'"),
        ("list --http-status many", "'many' is not a number"),
        ("list --bookmarked_at__gt someday", "not a time"),
        ("list --visibility__in public,friends", "no visibility"),
        ("list --filter-type=regex (?=a)", "not a regular expression"),
        ("list --url nowhere", "a URL looks like"),
        ("list --csv url --html", "choose one"),
        ("list --with-headers", "--csv or --html"),
        ("list --csv url,colour", "no field 'colour'"),
        ("list --csv ,", "--csv=url,title"),
        ("crawl list --schedule zzz", "not the id of a schedule"),
        ("archiveresult list --snapshot zzz", "not the id of a snapshot"),
    ],
)
def test_what_no_column_has_is_a_sentence(pages: dict[str, Snapshot], words: str, sentence: str) -> None:
    assert len(pages) == 3
    done = typed(words)
    assert done.code == 2
    assert sentence in done.err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--status done", "is not one of"),
        ("--status orphaned", "archivebox doctor"),
        ("--url__regex=x", "No such option"),
        ("--crawl__persona=x", "No such option"),
        ("--filter-type=fuzzy", "fuzzy"),
    ],
)
def test_only_lookups_and_statuses_that_are_documented_are_there(words: str, sentence: str) -> None:
    with pytest.raises(click.UsageError, match=sentence):
        typed(f"list {words}")


def test_csv_has_the_fields_and_names_of_earlier_versions_too(pages: dict[str, Snapshot]) -> None:
    done = typed("list --csv=timestamp,url,title,extension --with-headers --sort url")
    lines = done.out.splitlines()
    assert lines[0] == "timestamp,url,title,extension"
    assert lines[1].split(",")[1:] == [A, "Pears", "html"]
    assert float(lines[1].split(",")[0]) == pytest.approx(pages[A].created_at.timestamp())
    assert lines[3] == f'1717243200.25,{C},"\'=1+1, <b>",pdf'
    assert typed("list --csv url,tags --tag news --sort url").out.splitlines() == [f"{A},news", f"{B},news"]


def test_html_is_a_list_of_links_and_with_headers_a_page(pages: dict[str, Snapshot]) -> None:
    assert len(pages) == 3
    items = typed("list --html").out.splitlines()
    assert len(items) == 3
    assert f'<a href="{C}">=1+1, &lt;b&gt;</a>' in items[0]
    assert "2024-06-01" in items[0]
    page = typed("list --html --with-headers").out
    assert page.startswith("<!doctype html>")
    assert page.count("<li>") == 3


def test_other_models_are_listed_by_their_columns(pages: dict[str, Snapshot]) -> None:
    ArchiveResult.objects.create(snapshot=pages[A], plugin="pdf", hook_name="on_Snapshot__52_pdf.py", status="failed")
    ArchiveResult.objects.create(snapshot=pages[B], plugin="wget", hook_name="on_Snapshot__61_wget.py", status="queued")
    Crawl.objects.filter(pk=pages[B].crawl_id).update(label="fruit", max_depth=2)
    Tag.objects.create(name="Other", slug="other")
    row(plugin="pdf", status="exited", exit_code=1)
    expected = {
        "crawl list --label__icontains FRUIT": 1,
        "crawl list --urls__icontains a.test": 1,
        "crawl list --max-depth 2 --status queued": 1,
        "crawl list --status paused": 0,
        "crawl list --limit 2": 2,
        "archiveresult list --status=failed": 1,
        "archiveresult list --plugin wget --status failed": 0,
        f"archiveresult list --snapshot-id {pages[A].pk}": 1,
        "archiveresult list --hook_name__icontains 6": 1,
        "tag list": 2,
        "tag list --name NEWS": 1,
        "tag list --name__icontains o": 1,
        "process list --plugin pdf --exit_code__gt 0": 1,
        "process list --end_reason__in timeout": 0,
        "machine list": 1,
        "machine list --hostname nowhere": 0,
        "binary list --name wget": 0,
    }
    assert {words: len(typed(words).records) for words in expected} == expected
    (tagged,) = typed("tag list --name news").records
    assert tagged["snapshots"] == 2
    assert typed("archiveresult list --csv plugin,url --sort plugin").out.splitlines() == [f"pdf,{A}", f"wget,{B}"]


def test_results_of_removed_pages_are_not_listed(pages: dict[str, Snapshot]) -> None:
    ArchiveResult.objects.create(snapshot=pages[A], plugin="pdf", status="failed")
    assert len(typed("archiveresult list").records) == 1
    typed(f"remove --yes {A}")
    assert typed("archiveresult list").records == []
