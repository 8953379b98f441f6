"""What passes by itself is waited for, and on a connection of its own each time."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import pytest
from django.db import DatabaseError, connection, transaction
from django.db.models import F

from archivebox.base_models import transient
from archivebox.base_models.transient import DEADLOCK, ONLY_READ, retry_transient
from archivebox.core.models import Tag

pytestmark = [pytest.mark.usefixtures("collection"), pytest.mark.django_db(transaction=True), pytest.mark.database]


@pytest.mark.skipif(connection.vendor != "postgresql", reason="says so in an error of a kind of its own")
def test_a_standby_that_has_not_taken_over_yet_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = on")  # of this connection, as all are to a standby
    monkeypatch.setattr(transient, "TRY_EVERY", 0.0)
    told: list[str] = []
    retry_transient(lambda: Tag.objects.create(name="written"), tell=told.append)
    assert told == [ONLY_READ]


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one place for writers")
def test_of_two_writers_in_a_deadlock_one_does_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transient, "TRY_EVERY", 0.0)
    Tag.named("first")
    Tag.named("second")
    both_hold_one, one_is_done, told = Barrier(2, timeout=60), Event(), list[str]()

    def write(*names: str) -> int:
        tries = 0

        def change() -> None:
            nonlocal tries
            tries += 1
            with transaction.atomic():
                for name in names:
                    Tag.objects.filter(name=name).update(name=F("name"))
                    if tries == 1 and name == names[0]:
                        both_hold_one.wait()

        # One that began again at once could take back its first row before the other takes it: the next deadlock.
        retry_transient(change, tell=told.append, before_again=lambda: one_is_done.wait(timeout=60))
        one_is_done.set()
        connection.close()
        return tries

    with ThreadPoolExecutor(2) as writers:
        tries = writers.map(write, ("first", "second"), ("second", "first"))
    assert (sorted(tries), told) == ([1, 2], [DEADLOCK])


def test_any_other_error_is_nothing_to_wait_for() -> None:
    def refuse() -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT * FROM nothing_of_ours")

    with pytest.raises(DatabaseError, match="nothing_of_ours"):
        retry_transient(refuse)
