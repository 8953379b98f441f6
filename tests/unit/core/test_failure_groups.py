"""Failures are grouped as far as that is cheap, and tags are looked up on as many pages."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from archivebox.base_models.visibility import EVERYTHING, ViewerScope
from archivebox.core.models import ArchiveResult, Snapshot
from archivebox.core.progress import failure_groups
from archivebox.core.progress.failure_groups import FailureGroup, Failures, failures_by
from archivebox.core.tag import Tag
from archivebox.core.tags import assign_tags
from tests import factories

pytestmark = pytest.mark.usefixtures("collection")
SIGHTS = (EVERYTHING, ViewerScope(0), ViewerScope())
"""An administrator, a member, a passer-by."""


@pytest.fixture
def pages() -> list[Snapshot]:
    """Three pages: one that everybody sees, one that few see, and one that was removed; the plugin failed of each."""
    rows = list(factories.crawl(*(f"https://{name}.example/" for name in "abc")).snapshot_set.order_by("pk"))
    for row, reason in zip(rows, ("timeout", "declared", "timeout"), strict=True):
        ArchiveResult.objects.create(snapshot=row, plugin="wget", status="failed", reason=reason)
    Snapshot.objects.filter(pk=rows[0].pk).update(visibility="public")
    Snapshot.objects.filter(pk=rows[1].pk).update(visibility="private")
    Snapshot.objects.filter(pk=rows[2].pk).update(retired_at=timezone.now())
    return rows


@pytest.mark.database
def test_failures_are_counted_of_the_pages_that_are_seen(
    pages: list[Snapshot], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert pages
    assert failures_by("plugin", EVERYTHING) == Failures([FailureGroup("wget", 2, 1)], are_all_counted=True)
    assert failures_by("host", ViewerScope(0)) == Failures([FailureGroup("a.example", 1, 1)], are_all_counted=True)
    monkeypatch.setattr(failure_groups, "COUNTED", 1)
    assert failures_by("reason", EVERYTHING) == Failures([FailureGroup("declared", 1, 0)], are_all_counted=False)


@pytest.mark.database
def test_a_page_counts_once_by_the_cause_of_its_failures(pages: list[Snapshot]) -> None:
    for plugin in ("dom", "pdf", "singlefile"):
        ArchiveResult.objects.create(snapshot=pages[0], plugin=plugin, status="failed", reason="nothing_came")
    ArchiveResult.objects.create(snapshot=pages[1], plugin="pdf", status="failed", reason="declared")
    groups = [FailureGroup("declared", 1, 0), FailureGroup("timeout", 1, 1)]
    assert sorted(failures_by("reason", EVERYTHING).groups, key=lambda group: group.name) == groups
    assert failures_by("host", EVERYTHING).groups[1] == FailureGroup("a.example", 1, 1)
    ArchiveResult.objects.filter(snapshot=pages[0], plugin="wget").delete()
    assert FailureGroup("nothing_came", 1, 1) in failures_by("reason", EVERYTHING).groups


@pytest.mark.database
def test_a_tag_is_there_for_who_sees_one_of_its_newest_pages(pages: list[Snapshot]) -> None:
    unused, tag = Tag.named("unused"), Tag.named("fruit")
    assert tag is not None
    for row in pages[:2]:
        row.tags.add(tag)
    assert [set(assign_tags.tags_seen_by(scope)) for scope in SIGHTS] == [{unused, tag}] * 3
    assert set(assign_tags.tags_seen_by(ViewerScope(), most=1)) == {unused}
    assert set(assign_tags.tags_seen_by(ViewerScope(), most=None)) == {unused, tag}


@pytest.mark.once
def test_failures_and_tags_are_looked_up_in_an_index() -> None:
    for scope in SIGHTS:
        with CaptureQueriesContext(connection) as asked:
            failures_by("host", scope)
        plan = _plan(asked[0]["sql"])
        assert "result_failed_of" in plan
        assert "TEMP B-TREE" not in plan
    assert "tagging_of_tag (tag_id=?)" in assign_tags.tags_seen_by(ViewerScope()).explain()


def _plan(sql: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {sql}")
        return " ".join(row[3] for row in cursor.fetchall())
