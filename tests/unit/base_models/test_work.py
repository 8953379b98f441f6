from datetime import timedelta
from typing import NoReturn

import pytest
from django.db import DatabaseError
from django.utils import timezone

from archivebox.base_models.rows import new_id
from archivebox.base_models.transitions import TransitionRefusedError
from archivebox.base_models.users import system_user
from archivebox.base_models.wakeups import notify_workers, wake_local_workers
from archivebox.base_models.work import LEASE, Request
from archivebox.core.models import Snapshot
from archivebox.storage.layout import DataFolder
from tests.factories import crawl, leased, snapshot
from tests.status_triggers import arrange

pytestmark = pytest.mark.usefixtures("collection")


def again(item: Snapshot) -> Snapshot:
    return Snapshot.objects.get(pk=item.pk)


class TestLeases:
    def test_due_is_what_is_free_and_whose_time_has_come(self) -> None:
        now = timezone.now()
        items = [snapshot(f"https://example.com/{name}") for name in ("late", "early", "later", "none", "held")]
        moments = [now - timedelta(1), now - timedelta(2), now + timedelta(1), None, now - timedelta(3)]
        for item, moment in zip(items, moments, strict=True):
            Snapshot.objects.filter(pk=item.pk).update(retry_at=moment)
        Snapshot.objects.filter(pk=items[-1].pk).update(owner=new_id())
        assert list(Snapshot.objects.due()) == [items[1], items[0]]
        assert list(Snapshot.objects.free().order_by("retry_at")) == [items[1], items[0], items[2]]
        assert list(Snapshot.objects.due(now + timedelta(2))) == [items[1], items[0], items[2]]

    def test_lease_sets_owner_fence_and_end_and_no_status(self) -> None:
        item, owner = snapshot(), new_id()
        before = timezone.now()
        assert item.pk in Snapshot.claim([item.pk], owner)
        held = again(item)
        assert (held.owner, held.fence, held.status) == (owner, item.fence + 1, "queued")
        assert held.retry_at is not None
        assert before + LEASE <= held.retry_at <= timezone.now() + LEASE
        assert list(Snapshot.objects.held_by(owner)) == [held]

    def test_what_is_held_or_not_due_is_not_taken(self) -> None:
        held, later, never = leased(snapshot()), snapshot("https://example.com/2"), snapshot("https://example.com/3")
        Snapshot.objects.filter(pk=later.pk).update(retry_at=timezone.now() + timedelta(hours=1))
        Snapshot.objects.filter(pk=never.pk).update(retry_at=None)
        Snapshot.objects.filter(pk=held.pk).update(
            retry_at=timezone.now() - timedelta(hours=1)
        )  # expired is still held
        assert not Snapshot.claim([held.pk, later.pk, never.pk], new_id())

    def test_renew_is_the_holders(self) -> None:
        held = leased(snapshot())
        assert held.owner is not None
        Snapshot.objects.filter(pk=held.pk).update(retry_at=timezone.now())
        assert Snapshot.objects.all().renew(new_id()) == 0
        assert Snapshot.objects.all().renew(held.owner) == 1
        assert again(held).retry_at > timezone.now() + LEASE / 2  # type: ignore[operator]

    def test_release_counts_no_attempt_and_reclaim_counts_one(self) -> None:
        held = leased(snapshot())
        assert held.owner is not None
        later = timezone.now() + timedelta(minutes=5)
        assert Snapshot.objects.all().release(held.owner, later) == 1
        free = again(held)
        assert (free.owner, free.attempts, free.retry_at, free.fence) == (None, 0, later, 1)
        Snapshot.objects.filter(pk=held.pk).update(retry_at=timezone.now())
        held = leased(free)
        assert held.owner is not None
        assert Snapshot.objects.all().reclaim(new_id()) == 0
        assert Snapshot.objects.all().reclaim(held.owner) == 1
        free = again(held)
        assert (free.owner, free.attempts, free.fence) == (None, 1, 2)
        assert free.retry_at <= timezone.now()  # type: ignore[operator]
        assert Snapshot.objects.all().reclaim(held.owner) == 0


class TestFence:
    def test_only_the_holder_makes_a_transition(self) -> None:
        item = snapshot()
        old = leased(item)
        Snapshot.objects.filter(pk=item.pk).update(owner=None, retry_at=timezone.now())
        new = leased(item)
        with pytest.raises(TransitionRefusedError, match="no longer queued and ours"):
            old.transition("start")
        assert (again(item).status, old.status) == ("queued", "queued")
        with pytest.raises(TransitionRefusedError):
            item.transition("start")  # read before anybody held it
        new.transition("start")
        assert again(item).status == "started"

    def test_the_same_owner_with_an_older_fence_is_refused(self) -> None:
        first = leased(snapshot())
        Snapshot.objects.filter(pk=first.pk).update(fence=first.fence + 1)
        with pytest.raises(TransitionRefusedError):
            first.transition("start")
        assert not first.update_and_requeue(title="stolen")
        assert (first.title, again(first).title) == ("", "")

    def test_a_row_that_changed_its_status_meanwhile(self) -> None:
        item = snapshot()
        arrange(Snapshot.objects.filter(pk=item.pk), status="paused")
        with pytest.raises(TransitionRefusedError):
            item.transition("start")

    def test_what_entering_does_is_of_the_same_transaction(self) -> None:
        item = leased(snapshot())

        class Broken(Snapshot):
            class Meta:
                proxy = True
                app_label = "core"

            def queue_hooks(self) -> NoReturn:
                raise DatabaseError("the disk is full")

        item.__class__ = Broken
        with pytest.raises(DatabaseError):
            item.transition("start")
        assert again(item).status == "queued"

    def test_columns_go_with_the_same_update_and_the_request_is_answered(self) -> None:
        item = leased(snapshot())
        assert item.ask(Request.PAUSE)
        item.transition("pause", reason="paused")
        row = again(item)
        assert (row.status, row.reason, row.request, row.owner, row.retry_at) == ("paused", "paused", "", None, None)
        assert (item.reason, item.owner, item.retry_at) == ("paused", None, None)


class TestSmallThings:
    def test_update_and_requeue_bumps_modified_at(self) -> None:
        item = snapshot()
        later = timezone.now() + timedelta(minutes=1)
        before = again(item).modified_at
        assert item.update_and_requeue(retry_at=later, title="T")
        row = again(item)
        assert row.modified_at > before
        assert (row.retry_at, row.title, item.title) == (later, "T", "T")

    def test_a_request_is_left_with_a_holder_only(self) -> None:
        item = snapshot()
        assert not item.ask(Request.CANCEL)
        assert again(item).request == ""
        held = leased(item)
        assert held.ask(Request.CANCEL)
        assert again(held).request == "cancel"

    def test_the_machine_follows_the_row(self) -> None:
        item = snapshot()
        item.transition("pause")
        arrange(Snapshot.objects.filter(pk=item.pk), status="queued")
        item.refresh_from_db()
        item.transition("start")
        assert again(item).status == "started"

    def test_the_system_user_is_one_and_cannot_log_in(self) -> None:
        assert system_user().pk == system_user().pk
        assert not system_user().has_usable_password()

    def test_work_items_have_their_columns(self) -> None:
        for item in (crawl("https://example.com/columns"), snapshot()):
            assert item.output_dir
            assert item.state_machine_name.endswith("Machine")
            assert item.modified_at is not None
            assert item.created_by == system_user()
            assert item.created_at <= timezone.now()


def test_workers_are_woken_when_the_transaction_is_over(
    collection: DataFolder, django_capture_on_commit_callbacks: object
) -> None:
    with django_capture_on_commit_callbacks(execute=True) as callbacks:  # type: ignore[operator]
        notify_workers()
        assert not collection.wakeup_file.exists()
    assert len(callbacks) == 1
    before = collection.wakeup_file.stat().st_mtime_ns
    wake_local_workers()
    assert collection.wakeup_file.stat().st_mtime_ns >= before
