"""How often somebody may guess a password."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from archivebox.lib.throttle import LIMIT, WINDOW, Throttle


def test_after_five_attempts_the_next_waits_until_the_first_is_old() -> None:
    throttle = Throttle()
    assert [throttle.attempt("eve", now=100 + second) for second in range(LIMIT)] == [0] * LIMIT
    assert 0 < throttle.attempt("eve", now=110) <= WINDOW
    assert throttle.attempt("other", now=110) == 0
    assert throttle.attempt("eve", now=100 + WINDOW) == 0
    assert throttle.attempt("eve", now=100 + WINDOW) > 0, "the second is not old yet"


def test_a_right_password_neither_counts_as_a_guess_nor_resets_those_of_others() -> None:
    throttle = Throttle()
    for _ in range(4):
        throttle.attempt("eve", now=1)
    for second in range(20):
        assert throttle.attempt("eve", now=second) == 0
        throttle.succeeded("eve")
    assert throttle.attempt("eve", now=21) == 0
    assert throttle.attempt("eve", now=21) > 0


def test_of_many_at_once_no_more_than_the_limit_get_through() -> None:
    throttle = Throttle()
    together = Barrier(14)

    def guess() -> int:
        together.wait()
        return throttle.attempt("eve")

    with ThreadPoolExecutor(14) as pool:
        waits = [future.result() for future in [pool.submit(guess) for _ in range(14)]]
    assert waits.count(0) == LIMIT


def test_memory_has_a_bound() -> None:
    throttle = Throttle()
    for number in range(10_050):
        throttle.attempt(f"key {number}", now=1)
    assert len(throttle._attempts) == 10_000


def test_attempts_that_are_made_together_all_fit_or_none_counts() -> None:
    throttle = Throttle(limit=5, window=60)
    assert throttle.attempt("eve", now=0, count=2) == 0
    assert throttle.attempt("eve", now=10, count=2) == 0
    assert throttle.attempt("eve", now=20, count=2) == 41, "when the first are old"
    assert throttle.attempt("eve", now=20, count=3) == 41
    assert throttle.attempt("eve", now=20, count=4) == 51
    assert throttle.attempt("eve", now=20) == 0
    assert throttle.attempt("eve", now=60, count=2) == 0
