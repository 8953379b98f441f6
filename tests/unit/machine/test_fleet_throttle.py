"""Attempts count on all machines together, where they share a database."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest
from django.db import connection
from django.utils import timezone

from archivebox.lib.throttle import LIMIT
from archivebox.machine.fleet_throttle import FleetThrottle, forget_attempts
from archivebox.machine.models import AttemptCount

pytestmark = [pytest.mark.usefixtures("collection"), pytest.mark.database]
shared = pytest.mark.skipif(connection.vendor != "postgresql", reason="machines share no file")


def test_after_five_attempts_the_next_has_to_wait() -> None:
    throttle = FleetThrottle("passwords")
    assert [throttle.attempt("eve") for _ in range(LIMIT)] == [0] * LIMIT
    assert throttle.is_used_up("eve")
    assert throttle.attempt("eve") > 0
    assert throttle.attempt("ada") == 0
    assert not throttle.is_used_up("ada")


def test_what_succeeded_counts_no_more_and_what_others_tried_does() -> None:
    throttle = FleetThrottle("passwords")
    for _ in range(LIMIT - 1):
        throttle.attempt("eve")
    for _ in range(3):
        assert throttle.attempt("eve") == 0
        throttle.succeeded("eve")
    assert throttle.attempt("eve") == 0
    assert throttle.attempt("eve") > 0


def test_attempts_made_together_all_count_or_none() -> None:
    throttle = FleetThrottle("addresses", limit=3, window=60)
    assert throttle.attempt("eve", count=2) == 0
    assert throttle.attempt("eve", count=2) > 0
    assert throttle.attempt("eve") == 0


@pytest.mark.skipif(connection.vendor == "postgresql", reason="machines may share a server")
def test_a_machine_alone_writes_no_rows() -> None:
    FleetThrottle("passwords").attempt("eve")
    assert not AttemptCount.objects.exists()


@shared
def test_another_web_server_counts_on_and_a_success_leaves_no_row() -> None:
    here, elsewhere = FleetThrottle("passwords"), FleetThrottle("passwords")
    for _ in range(3):
        assert here.attempt("eve") == 0
    assert elsewhere.attempt("eve") == 0
    assert elsewhere.attempt("eve") == 0
    assert here.is_used_up("eve")
    assert here.attempt("eve") > 0
    assert FleetThrottle("codes").attempt("eve") == 0, "each throttle counts its own"
    assert not any("eve" in key for key in AttemptCount.objects.values_list("key", flat=True))
    AttemptCount.objects.all().delete()
    here.attempt("ada")
    here.succeeded("ada")
    assert not AttemptCount.objects.exists()


@shared
def test_attempts_that_are_old_count_no_more_and_are_forgotten() -> None:
    throttle = FleetThrottle("passwords")
    for _ in range(LIMIT):
        throttle.attempt("eve")
    long_ago = timezone.now() - timedelta(hours=1)
    AttemptCount.objects.update(attempts=[long_ago.timestamp()] * LIMIT, expires_at=long_ago)
    assert not throttle.is_used_up("eve")
    throttle.attempt("ada")
    forget_attempts()
    assert AttemptCount.objects.count() == 1


@shared
@pytest.mark.django_db(transaction=True)
def test_of_many_at_once_on_several_machines_no_more_than_the_limit_get_through() -> None:
    together = Barrier(12)

    def guess() -> int:
        try:
            together.wait()
            return FleetThrottle("passwords").attempt("eve")
        finally:
            connection.close()

    with ThreadPoolExecutor(12) as pool:
        waits = [future.result() for future in [pool.submit(guess) for _ in range(12)]]
    assert waits.count(0) == LIMIT
