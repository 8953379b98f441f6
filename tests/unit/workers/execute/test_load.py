"""When one worker is too few: seconds and CPU are told to it, nothing here takes any."""

from archivebox.workers.execute.capacity.load import BUSY, LOOK_EVERY, Load


class Machine:
    """Two clocks that go on when they are told to."""

    def __init__(self) -> None:
        self.seconds, self.cpu = 100.0, 7.0
        self.load = Load(lambda: self.seconds, lambda: self.cpu)

    def look(self, share: float = 0.0, *, is_full: bool = False) -> bool:
        self.seconds += LOOK_EVERY
        self.cpu += LOOK_EVERY * share
        return self.load.is_too_much(is_full=is_full)


def test_one_that_waits_most_of_the_time_keeps_up() -> None:
    machine = Machine()
    assert not any(machine.look(BUSY - 0.1) for _ in range(10))


def test_half_a_core_is_too_much_when_it_lasts() -> None:
    machine = Machine()
    assert [machine.look(BUSY + 0.1) for _ in range(3)] == [False, True, True]
    assert not machine.look(0.1)


def test_a_burst_is_not_too_much() -> None:
    machine = Machine()
    assert not any(machine.look(share) for share in (1.0, 0.1, 1.0, 0.1))


def test_one_that_may_take_no_page_more_is_too_few_however_little_it_does() -> None:
    machine = Machine()
    assert [machine.look(is_full=True) for _ in range(2)] == [False, True]
    assert not machine.look(is_full=False)
