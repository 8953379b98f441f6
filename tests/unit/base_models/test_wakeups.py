"""Other machines that share a PostgreSQL are told of work, if its transaction is committed."""

import itertools
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.db import connection, transaction

from archivebox.base_models.wakeups import CHANNEL, notify_workers, sender_id
from archivebox.workers.execute.journal import Batch, commit

pytestmark = [
    pytest.mark.usefixtures("collection"),
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "postgresql", reason="machines share no file"),
]

Other = psycopg.Connection[Any]


@pytest.fixture
def other() -> Iterator[Other]:
    """What another machine hears."""
    params = {**connection.get_connection_params(), "cursor_factory": None, "context": None}
    with psycopg.connect(**params, autocommit=True) as made:
        made.execute(f"LISTEN {CHANNEL}".encode())
        yield made


def heard(other: Other) -> list[str]:
    """Who has notified until now: everything that is heard before a last word of its own."""
    other.execute(f"NOTIFY {CHANNEL}, 'last'".encode())
    payloads = (notification.payload for notification in other.notifies(timeout=60))
    return list(itertools.takewhile(lambda payload: payload != "last", payloads))


def test_others_hear_of_a_commit_once_and_who_notified(other: Other) -> None:
    with transaction.atomic():
        notify_workers()
        notify_workers()
        assert heard(other) == [], "nothing is committed yet"
    assert heard(other) == [sender_id()]


def test_others_hear_nothing_of_what_was_rolled_back(other: Other) -> None:
    with transaction.atomic():
        notify_workers()
        transaction.set_rollback(True)
    assert heard(other) == []


@pytest.mark.parametrize("wake", [True, False])
def test_a_workers_batch_tells_other_machines_where_it_wakes(other: Other, wake: bool) -> None:
    commit(Batch(wake=wake))
    assert heard(other) == [sender_id()] * wake
