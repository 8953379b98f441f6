"""A prepared query says what its query set says; constants in a statement let SQLite use partial indexes."""

from datetime import datetime, timedelta
from uuid import UUID

import pytest
from django.db import connection, models
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from archivebox.base_models.literal import Literal, one_of
from archivebox.base_models.prepared import PreparedQuery, Rows
from archivebox.base_models.rows import new_id
from archivebox.base_models.table import table_of
from archivebox.core.models import ArchiveResult, Snapshot
from archivebox.crawls.models import Crawl
from archivebox.machine.models import Machine, Process
from tests.factories import snapshot

pytestmark = pytest.mark.usefixtures("collection")


@PreparedQuery
def of_crawl_before(crawl: UUID, moment: datetime) -> Rows:
    rows = Snapshot.objects.filter(crawl_id=crawl, modified_at__lt=moment, retry_at__lt=moment)
    return rows.order_by("url").values_list("pk", "url", "retry_at")


@PreparedQuery
def with_text(url: str, depth: int) -> Rows:
    return Snapshot.objects.filter(url=url, depth=depth).values_list("pk")


@PreparedQuery
def pages_by_host() -> Rows:
    return Snapshot.objects.order_by("domain").values_list("domain").annotate(pages=models.Count("pk"))


@PreparedQuery
def outlinks_with_parents(crawl: UUID) -> models.QuerySet[Snapshot]:
    rows = Snapshot.objects.select_related("crawl", "parent_snapshot")
    return rows.filter(crawl_id=crawl).order_by("depth")


class TestPreparedQuery:
    def test_rows_have_python_values_and_each_call_its_own_arguments(self) -> None:
        one, other = snapshot("https://a.example/"), snapshot("https://b.example/")
        soon = timezone.now() + timedelta(minutes=1)
        assert of_crawl_before(one.crawl_id, soon) == [(one.pk, one.url, one.retry_at)]
        assert of_crawl_before(other.crawl_id, soon) == [(other.pk, other.url, other.retry_at)]
        assert of_crawl_before(one.crawl_id, soon - timedelta(days=1)) == []

    def test_texts_and_numbers(self) -> None:
        page = snapshot("https://a.example/it's%20%s")
        assert with_text(page.url, 0) == [(page.pk,)]
        assert with_text(page.url, 1) == []

    def test_groups_are_counted(self) -> None:
        snapshot("https://a.example/1")
        snapshot("https://a.example/2")
        snapshot("https://b.example/")
        assert pages_by_host() == [("a.example", 2), ("b.example", 1)]

    def test_objects_come_with_those_they_are_selected_with(self) -> None:
        parent = snapshot("https://a.example/")
        child = Snapshot.from_jsonl({"url": "https://a.example/below"}, {"snapshot": parent})
        assert child is not None
        with CaptureQueriesContext(connection) as asked:
            first, second = outlinks_with_parents(parent.crawl_id)
            assert (first, second) == (parent, child)
            assert first.parent_snapshot is None
            assert second.parent_snapshot == parent
            assert second.crawl == parent.crawl
            assert second.retry_at == child.retry_at
        assert len(asked) == 1
        first.title = "changed"
        first.save()
        assert outlinks_with_parents(parent.crawl_id)[0].title == "changed"

    def test_an_argument_that_is_used_nowhere_is_an_error(self) -> None:
        @PreparedQuery
        def odd(snapshot: UUID) -> Rows:
            del snapshot
            return Snapshot.objects.values_list("pk")

        with pytest.raises(ValueError, match="no place"):
            odd(new_id())


class TestLiteral:
    @pytest.mark.skipif(connection.vendor != "sqlite", reason="others know the values when they plan")
    @pytest.mark.parametrize(
        ("rows", "index"),
        [
            (lambda: Process.objects.running().filter(machine=Machine.current(), request="kill"), "process_running"),
            (lambda: Snapshot.objects.unsealed().filter(crawl_id=new_id()), "snapshot_open"),
            (ArchiveResult.objects.unfinished, "result_open"),
            (lambda: ArchiveResult.objects.in_back_off().filter(retry_at__lt=timezone.now()), "result_backoff"),
            (lambda: Crawl.objects.open().order_by("pk"), "crawl_open"),
        ],
    )
    def test_queries_of_the_few_that_are_open_do_not_read_all_the_rest(self, rows: object, index: str) -> None:
        assert callable(rows)
        assert f"INDEX {index}" in rows().explain()

    def test_it_finds_what_the_word_finds(self) -> None:
        page = snapshot()
        assert Snapshot.objects.filter(status__in=one_of("queued", "paused")).get() == page
        assert Snapshot.objects.filter(status=Literal("queued")).get() == page
        assert not Snapshot.objects.filter(status=Literal("sealed"))

    def test_only_words_go_into_a_statement(self) -> None:
        with pytest.raises(ValueError, match="not a word"):
            Literal("queued' OR 1=1 --")


class TestKnownValues:
    def test_it_finds_those_that_rows_have_among_what_is_asked(self) -> None:
        page, other, table = snapshot(), snapshot(), table_of(Snapshot)
        wanted = [page.url, other.url, "https://nowhere.example/"]
        assert table.known_values("url", wanted, {"crawl_id": page.crawl_id}) == {page.url}
        assert table.known_values("url", wanted, {}) == {page.url, other.url}
        assert table.known_values("url", [], {}) == set()


class TestChange:
    def test_the_row_is_changed_only_while_it_is_as_known(self) -> None:
        page, table = snapshot(), table_of(Snapshot)
        fence = page.fence
        known = {"id": page.pk, "owner": None, "fence": fence}
        worker = new_id()
        assert table.change({"owner": worker, "title": "kept"}, known)
        assert not table.change({"title": "late"}, known), "it has an owner now"
        assert not table.change({"title": "late"}, {**known, "owner": new_id()})
        assert table.change({"fence": fence + 1}, {**known, "owner": worker})
        page.refresh_from_db()
        assert (page.owner, page.title, page.fence) == (worker, "kept", fence + 1)
