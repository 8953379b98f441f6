"""Turns at SQLite's one place for writers, and writes that do not wait for the disk."""

import time

import pytest
from django.db import connection, transaction

from archivebox.base_models import transactions
from archivebox.base_models.transactions import end_hanging_transactions, unflushed_transactions, write_transaction
from archivebox.base_models.transient import OF_DATABASE, transient_problem
from archivebox.config.settings import DATA_FOLDER
from archivebox.core.models import Tag
from archivebox.lib.files import locked

pytestmark = [pytest.mark.usefixtures("collection"), pytest.mark.django_db(transaction=True)]
on_sqlite = pytest.mark.skipif(connection.vendor != "sqlite", reason="only SQLite has one place for writers")


def somebody_writes() -> bool:
    with locked(DATA_FOLDER.write_lock, blocking=False) as descriptor:
        return descriptor is None


@on_sqlite
def test_the_place_is_taken_for_a_turn_alone() -> None:
    assert not somebody_writes()
    with write_transaction():
        assert somebody_writes()
    assert not somebody_writes()


FLUSHES = {"sqlite": ("PRAGMA synchronous", 2, 1), "postgresql": ("SHOW synchronous_commit", "on", "on")}


def flushes() -> object:
    with connection.cursor() as cursor:
        cursor.execute(FLUSHES[connection.vendor][0])
        return cursor.fetchone()[0]


def test_what_is_made_again_after_a_power_cut_is_not_flushed_and_all_else_is() -> None:
    _, flushed, unflushed = FLUSHES[connection.vendor]
    assert flushes() == flushed
    with unflushed_transactions():
        assert flushes() == unflushed
    with pytest.raises(LookupError), unflushed_transactions():
        write_and_fail()
    assert flushes() == flushed


def write_and_fail() -> None:
    with write_transaction():
        Tag.named("lost")
        raise LookupError


def test_what_failed_takes_nothing_of_what_was_written_before_with_it() -> None:
    with unflushed_transactions():
        with write_transaction():
            Tag.named("kept")
        with pytest.raises(LookupError):
            write_and_fail()
    assert [tag.name for tag in Tag.objects.all()] == ["kept"]
    assert not somebody_writes()
    assert not transaction.get_connection().in_atomic_block


def write_and_hang() -> None:
    with write_transaction():
        Tag.named("lost")
        time.sleep(2)
        Tag.objects.exists()


@pytest.mark.skipif(connection.vendor != "postgresql", reason="on SQLite the kernel drops the lock of who dies")
def test_a_transaction_in_which_nothing_is_asked_for_long_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its machine may be suspended; others wait for what it has locked, and a later try finds the database again."""
    monkeypatch.setitem(connection.settings_dict, "OPTIONS", dict(connection.settings_dict["OPTIONS"]))
    monkeypatch.setattr(transactions, "_IDLE_SECONDS", 1)
    connection.close()
    end_hanging_transactions()
    try:
        with pytest.raises(OF_DATABASE) as raised:
            write_and_hang()
        assert transient_problem(raised.value)
    finally:
        connection.close()
    assert not Tag.objects.exists()
