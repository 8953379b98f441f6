"""Constants in a statement let SQLite use partial indexes."""

import pytest
from django.db import connection
from django.utils import timezone

from archivebox.base_models.literal import Literal, one_of
from archivebox.base_models.rows import new_id
from archivebox.core.models import ArchiveResult, Snapshot
from archivebox.crawls.models import Crawl
from archivebox.machine.models import Machine, Process
from tests.factories import snapshot

pytestmark = pytest.mark.usefixtures("collection")


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
