from __future__ import annotations

from archivebox.web.throttle import Throttle


def test_after_the_limit_one_waits_until_the_oldest_failure_is_forgotten() -> None:
    throttle = Throttle(limit=3, window=60)
    for moment in (0, 10, 20):
        assert throttle.wait_for("eve", now=moment) == 0
        throttle.failed("eve", now=moment)
    assert throttle.wait_for("eve", now=21) == 39
    assert throttle.wait_for("eve", now=60) == 0


def test_keys_do_not_hold_each_other_up_and_success_forgets() -> None:
    throttle = Throttle(limit=1, window=60)
    throttle.failed("eve", now=0)
    assert throttle.wait_for("adam", now=1) == 0
    assert throttle.wait_for("adam", "eve", now=1) > 0
    throttle.succeeded("eve")
    assert throttle.wait_for("eve", now=1) == 0


def test_guessing_with_many_names_does_not_fill_the_memory() -> None:
    throttle = Throttle()
    for number in range(12_000):
        throttle.failed(f"name {number}", now=0)
    assert len(throttle._failures) == 10_000
