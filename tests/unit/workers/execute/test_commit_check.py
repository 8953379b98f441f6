"""A database server that takes over may lack the last commits; the rows are put back here as it would have them."""

from __future__ import annotations

import pytest
from django.db import connection
from django.utils import timezone

from archivebox.core.models import Snapshot
from archivebox.machine.models import Machine, NetworkInterface, Process
from archivebox.workers.execute.commit_check import CommitCheck
from archivebox.workers.execute.journal import Batch, Effect, commit
from archivebox.workers.queue.lease import Lease
from tests.factories import leased, row, snapshot

pytestmark = [
    pytest.mark.usefixtures("transactional_db", "collection"),
    pytest.mark.database,
    pytest.mark.skipif(connection.vendor != "postgresql", reason="a file has what was committed"),
]


class Worker:
    """Its commits, and the leases of which it was told that something was lost."""

    def __init__(self) -> None:
        self.row = row()
        self.lost: list[Lease] = []
        self.commits = CommitCheck(self.row, self.lost.append)

    def lose_commits_after(self, number: int) -> None:
        Process.objects.filter(pk=self.row.pk).update(commit_number=number)


def page(worker: Worker, url: str) -> Lease:
    held = leased(snapshot(url), worker.row)
    return Lease(Snapshot, held.pk, worker.row.pk, held.fence)


def write_title(worker: Worker, lease: Lease, title: str) -> list[Lease]:
    def write() -> None:
        Snapshot.objects.filter(pk=lease.pk).update(title=title)

    return commit(Batch(effects=[Effect(lease, write)]), worker.commits).lost


def title(lease: Lease) -> str:
    return Snapshot.objects.get(pk=lease.pk).title


def test_only_what_a_lost_commit_wrote_begins_anew() -> None:
    worker = Worker()
    early, late = page(worker, "https://early.example/"), page(worker, "https://late.example/")
    assert not write_title(worker, early, "first")
    assert not write_title(worker, late, "second")
    worker.lose_commits_after(1)
    assert not write_title(worker, early, "goes on")
    assert worker.lost == [late]
    assert write_title(worker, late, "too late") == [late]
    assert (title(early), title(late)) == ("goes on", "second")
    worker.commits.look()
    assert worker.lost == [late], "it is told once"


def test_a_page_that_nobody_held_then_is_not_written_by_the_lost_lease() -> None:
    worker = Worker()
    lost = page(worker, "https://lost.example/")
    write_title(worker, lost, "before")
    Snapshot.objects.filter(pk=lost.pk).update(owner=None, fence=lost.fence - 1, retry_at=timezone.now())
    worker.lose_commits_after(0)
    worker.commits.look()
    assert Snapshot.claim([lost.pk], worker.row.pk)
    assert write_title(worker, lost, "after") == [lost]


def test_the_new_holder_of_a_lost_page_keeps_it() -> None:
    worker, other = Worker(), Worker()
    lost = page(worker, "https://lost.example/")
    write_title(worker, lost, "before")
    Snapshot.objects.filter(pk=lost.pk).update(owner=other.row.pk)
    worker.lose_commits_after(0)
    worker.commits.look()
    assert not write_title(other, lost._replace(owner=other.row.pk), "its own")


def test_a_worker_whose_own_row_was_lost_has_it_again() -> None:
    worker = Worker()
    held = page(worker, "https://one.example/")
    write_title(worker, held, "before")
    Process.objects.filter(pk=worker.row.pk).delete()
    worker.commits.look()
    assert worker.lost == [held]
    assert Process.objects.get(pk=worker.row.pk).commit_number == 1


def test_a_commit_whose_confirmation_was_lost_is_not_made_twice() -> None:
    worker, written = Worker(), []
    batch = Batch(effects=[Effect(None, lambda: written.append(1))])
    commit(batch, worker.commits)
    worker.commits.number -= 1  # as if the connection had broken before the answer came
    commit(batch, worker.commits)
    assert len(written) == 1


def test_lost_rows_of_the_machine_and_its_interfaces_are_written_again() -> None:
    worker = Worker()
    lost = page(worker, "https://lost.example/")
    worker.commits.lasting.append(interface := NetworkInterface.with_address(Machine.current().pk, "127.0.0.1"))
    interface.save_if_new()
    write_title(worker, lost, "before")
    Process.objects.all().delete()
    Machine.objects.all().delete()
    worker.commits.look()
    assert worker.lost == [lost]
    assert Process.objects.get().pk == worker.row.pk
    assert NetworkInterface.objects.get().machine == Machine.objects.get() == Machine.current()
