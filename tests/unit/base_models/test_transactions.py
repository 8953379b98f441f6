"""Turns at SQLite's one place for writers, and visits that make one of several."""

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from archivebox.base_models.transactions import batched_transaction, write_transaction
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


@on_sqlite
def test_turns_of_a_visit_are_one_from_the_first_on() -> None:
    with CaptureQueriesContext(connection) as said:
        with batched_transaction():
            assert not somebody_writes(), "who only reads takes no turn"
            for name in ("one", "two"):
                with write_transaction():
                    Tag.named(name)
                assert somebody_writes()
        assert not somebody_writes()
    begun = [one["sql"] for one in said if one["sql"].startswith("BEGIN")]
    assert len(begun) == 1
    assert Tag.objects.count() == 2


FLUSHES = {"sqlite": ("PRAGMA synchronous", 2, 1), "postgresql": ("SHOW synchronous_commit", "on", "off")}


def flushes() -> object:
    with connection.cursor() as cursor:
        cursor.execute(FLUSHES[connection.vendor][0])
        return cursor.fetchone()[0]


def test_what_is_made_again_after_a_power_cut_is_not_flushed_and_all_else_is() -> None:
    _, flushed, unflushed = FLUSHES[connection.vendor]
    assert flushes() == flushed
    with batched_transaction():
        assert flushes() == unflushed
    with pytest.raises(LookupError), batched_transaction():
        write_and_fail()
    assert flushes() == flushed


def write_and_fail() -> None:
    with write_transaction():
        Tag.named("lost")
        raise LookupError


def test_a_turn_that_fails_takes_nothing_of_the_others_with_it() -> None:
    with batched_transaction():
        with write_transaction():
            Tag.named("kept")
        with pytest.raises(LookupError):
            write_and_fail()
    assert [tag.name for tag in Tag.objects.all()] == ["kept"]


def visit_and_fail() -> None:
    with batched_transaction():
        with write_transaction():
            Tag.named("lost")
        raise LookupError


def test_a_visit_that_fails_lets_the_place_go() -> None:
    with pytest.raises(LookupError):
        visit_and_fail()
    assert not somebody_writes()
    assert not transaction.get_connection().in_atomic_block
    assert Tag.objects.exists() == (connection.vendor != "sqlite")
