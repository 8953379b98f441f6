"""A periodic task is done once in a while in all, whoever asks, and again after a crash."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection, connections
from django.utils import timezone

from archivebox.machine.models import PeriodicTask
from archivebox.machine.periodic import DAILY, periodic_task, repeat_at_once

pytestmark = pytest.mark.usefixtures("collection")


def is_due() -> bool:
    with periodic_task("task", DAILY) as due:
        return due


def test_a_task_is_due_once_in_its_time() -> None:
    assert [is_due() for _ in range(3)] == [True, False, False]
    PeriodicTask.objects.update(next_at=timezone.now() - timedelta(seconds=1))
    assert [is_due(), is_due()] == [True, False]
    repeat_at_once("task")
    assert [is_due(), is_due()] == [True, False]


def test_a_clock_that_was_set_back_keeps_no_task_waiting() -> None:
    assert is_due()
    PeriodicTask.objects.update(next_at=timezone.now() + DAILY * 3)
    assert is_due()


def test_who_asked_before_another_did_the_task_finds_it_done() -> None:
    """Its query began a moment earlier than the one that set the time."""
    assert is_due()
    PeriodicTask.objects.update(next_at=timezone.now() + DAILY + timedelta(seconds=5))
    assert not is_due()


def break_in_the_task() -> None:
    with periodic_task("task", DAILY) as due:
        assert due
        raise LookupError


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("transactional_db")
def test_a_task_whose_work_broke_stays_due() -> None:
    with pytest.raises(LookupError):
        break_in_the_task()
    assert is_due()


@pytest.mark.database
@pytest.mark.usefixtures("transactional_db")
def test_of_many_who_ask_at_once_one_does_the_task() -> None:
    """Threads with connections of their own, as machines have; the row is there or is not."""
    for _ in range(5):
        barrier = threading.Barrier(4)

        def ask(barrier: threading.Barrier = barrier) -> bool:
            barrier.wait()
            try:
                return is_due()
            finally:
                connections.close_all()

        with ThreadPoolExecutor(4) as pool:
            assert sum(asked.result() for asked in [pool.submit(ask) for _ in range(4)]) == 1
        PeriodicTask.objects.update(next_at=timezone.now() - timedelta(seconds=1))


@pytest.mark.database
@pytest.mark.skipif(connection.vendor != "postgresql", reason="on SQLite one writes at a time")
@pytest.mark.usefixtures("transactional_db")
def test_nobody_waits_for_who_does_the_task() -> None:
    """A machine may hang in the middle of it."""

    def ask() -> bool:
        try:
            return is_due()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        with periodic_task("task", DAILY) as due:
            assert due
            assert not pool.submit(ask).result(timeout=30)
        assert not pool.submit(ask).result(timeout=30)
