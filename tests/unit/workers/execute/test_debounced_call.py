"""Calls after one delay: each in its turn, none that was called off, one timer for all."""

import asyncio
from typing import Any

from archivebox.workers.execute.capacity.debounced_call import DebouncedCall


class Loop:
    """A loop whose time stands until it is told to go on."""

    def __init__(self) -> None:
        self.now = 0.0
        self.timers: list[tuple[float, Any]] = []

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, work: Any) -> Any:
        self.timers.append((when, work))
        return asyncio.TimerHandle(when, work, (), asyncio.new_event_loop())

    def go_on_to(self, moment: float) -> None:
        self.now = moment
        due = [work for when, work in self.timers if when <= moment]
        self.timers = [(when, work) for when, work in self.timers if when > moment]
        for work in due:
            work()


def test_each_is_called_when_its_time_is_over_and_none_that_was_called_off() -> None:
    loop, called = Loop(), []
    delay = DebouncedCall(loop, 10.0)  # type: ignore[arg-type]
    delay.add("first", lambda: called.append("first"))
    loop.go_on_to(4.0)
    delay.add("off", lambda: called.append("off"))
    delay.add("last", lambda: called.append("last"))
    delay.discard("off")
    delay.discard("never there")
    loop.go_on_to(10.0)
    assert called == ["first"]
    assert len(loop.timers) == 1
    loop.go_on_to(14.0)
    assert called == ["first", "last"]
    assert loop.timers == []


def test_one_may_call_off_another_or_ask_for_itself_again() -> None:
    loop, called = Loop(), []
    delay = DebouncedCall(loop, 1.0)  # type: ignore[arg-type]

    def again() -> None:
        called.append(loop.now)
        delay.discard("other")
        delay.add("again", again)

    delay.add("again", again)
    delay.add("other", lambda: called.append(-1.0))
    loop.go_on_to(1.0)
    loop.go_on_to(2.0)
    assert called == [1.0, 2.0]
