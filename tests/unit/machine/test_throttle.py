"""How often somebody may guess a password, on all machines together."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest
from django.db import connection
from django.utils import timezone

from archivebox.machine.models import AttemptCount
from archivebox.machine.throttle import LIMIT, WINDOW, Throttle

pytestmark = [pytest.mark.usefixtures("collection"), pytest.mark.database]


def test_after_five_attempts_the_next_has_to_wait() -> None:
    throttle = Throttle("passwords")
    assert [throttle.attempt("eve") for _ in range(LIMIT)] == [0] * LIMIT
    assert throttle.is_used_up("eve")
    assert throttle.attempt("eve") > 0
    assert throttle.attempt("ada") == 0
    assert not throttle.is_used_up("ada")


def test_what_succeeded_counts_no_more_and_what_others_tried_does() -> None:
    throttle = Throttle("passwords")
    for _ in range(LIMIT - 1):
        throttle.attempt("eve")
    for _ in range(3):
        assert throttle.attempt("eve") == 0
        throttle.succeeded("eve")
    assert throttle.attempt("eve") == 0
    assert throttle.attempt("eve") > 0


def test_attempts_made_together_all_count_or_none() -> None:
    throttle = Throttle("addresses", limit=5)
    now = timezone.now().timestamp()
    throttle.attempt("eve")
    AttemptCount.objects.update(attempts=[now - 100, now - 100, now - 50, now - 50])
    assert throttle.attempt("eve", count=2) in range(int(WINDOW) - 102, int(WINDOW) - 98), "when the first are old"
    assert throttle.attempt("eve", count=4) in range(int(WINDOW) - 52, int(WINDOW) - 48), "when the third is"
    assert throttle.attempt("eve") == 0
    assert throttle.attempt("eve") > 0


def test_another_web_server_counts_on_and_a_success_leaves_no_row() -> None:
    here, elsewhere = Throttle("passwords"), Throttle("passwords")
    for _ in range(3):
        assert here.attempt("eve") == 0
    assert elsewhere.attempt("eve") == 0
    assert elsewhere.attempt("eve") == 0
    assert here.is_used_up("eve")
    assert here.attempt("eve") > 0
    assert Throttle("codes").attempt("eve") == 0, "each throttle counts its own"
    assert not any("eve" in key for key in AttemptCount.objects.values_list("key", flat=True))
    AttemptCount.objects.all().delete()
    here.attempt("ada")
    here.succeeded("ada")
    assert not AttemptCount.objects.exists()


def test_attempts_that_are_old_count_no_more_and_are_forgotten() -> None:
    throttle = Throttle("passwords")
    for _ in range(LIMIT):
        throttle.attempt("eve")
    long_ago = timezone.now() - timedelta(hours=1)
    AttemptCount.objects.update(attempts=[long_ago.timestamp()] * LIMIT, expires_at=long_ago)
    assert not throttle.is_used_up("eve")
    throttle.attempt("ada")
    assert AttemptCount.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_many_at_once_on_several_machines_no_more_than_the_limit_get_through() -> None:
    together = Barrier(12)

    def guess() -> int:
        try:
            together.wait()
            return Throttle("passwords").attempt("eve")
        finally:
            connection.close()

    with ThreadPoolExecutor(12) as pool:
        waits = [future.result() for future in [pool.submit(guess) for _ in range(12)]]
    assert waits.count(0) == LIMIT
