"""The database of tests rejects each change of a status that no table allows, however it is written."""

from collections.abc import Callable

import pytest
from django.db import DatabaseError, connection, transaction

from archivebox.base_models.bulk_write import update_rows
from archivebox.base_models.transitions import TransitionRefusedError
from archivebox.contract.reasons import Reason
from archivebox.core.crawl_control.edit_crawl import cancel_pages
from archivebox.core.snapshot import Snapshot
from tests import factories
from tests.status_triggers import arrange

pytestmark = pytest.mark.usefixtures("collection")


@pytest.fixture
def sealed() -> Snapshot:
    page = factories.snapshot("https://sealed.example/")
    arrange(Snapshot.objects.filter(pk=page.pk), status="sealed", retry_at=None)
    page.refresh_from_db()
    return page


def by_bulk_update(page: Snapshot) -> None:
    Snapshot.objects.filter(pk=page.pk).update(status="cancelled")


def by_saving(page: Snapshot) -> None:
    page.status = "started"
    page.save()


def by_journal(page: Snapshot) -> None:
    update_rows(Snapshot, ("status",), [(page.pk, {"status": "paused"})])


def by_sql(_page: Snapshot) -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE core_snapshot SET status = 'cancelled'")


@pytest.mark.parametrize("change", [by_bulk_update, by_saving, by_journal, by_sql])
def test_a_status_is_not_changed_past_the_table(sealed: Snapshot, change: Callable[[Snapshot], None]) -> None:
    with pytest.raises(DatabaseError, match="no transition of core_snapshot"), transaction.atomic():
        change(sealed)


def test_what_the_table_allows_is_written(sealed: Snapshot) -> None:
    sealed.transition("reopen")
    sealed.refresh_from_db()
    assert sealed.status == "queued"
    assert Snapshot.objects.filter(pk=sealed.pk).transition("cancel", reason=Reason.CANCELLED) == 1
    sealed.refresh_from_db()
    assert (sealed.status, sealed.retry_at) == ("cancelled", None)


def test_a_bulk_transition_leaves_out_what_is_in_none_of_its_sources(sealed: Snapshot) -> None:
    assert Snapshot.objects.filter(pk=sealed.pk).transition("cancel") == 0


def test_a_sealed_page_is_not_cancelled_with_the_rest_of_its_crawl(sealed: Snapshot) -> None:
    other = factories.snapshot("https://open.example/")
    assert cancel_pages([sealed.pk, other.pk], Reason.CANCELLED) == 1
    assert set(Snapshot.objects.values_list("pk", "status")) == {(sealed.pk, "sealed"), (other.pk, "cancelled")}
    with pytest.raises(TransitionRefusedError):
        sealed.transition("cancel")
