"""A slot given back wakes whoever can use it, and nobody else."""

from functools import partial

from archivebox.workers.execute.engine import Slots


class Waiting:
    """Somebody who wants so many slots and takes one each time it is told."""

    def __init__(self, slots: Slots, wants: int) -> None:
        self.slots, self.wants, self.told, self.has = slots, wants, 0, 0
        self.take()

    def take(self) -> None:
        while self.wants and self.slots.take():
            self.wants, self.has = self.wants - 1, self.has + 1
        if self.wants:
            self.slots.tell_when_free(self.tell)

    def tell(self) -> None:
        self.told += 1
        self.take()


def test_one_slot_wakes_one_and_the_others_keep_their_places() -> None:
    slots = Slots(1)
    lease, first, second = (Waiting(slots, 1) for _ in range(3))
    slots.give_back()
    assert (lease.told, first.has, first.told, second.told) == (0, 1, 1, 0)
    slots.give_back()
    assert (first.told, second.has) == (1, 1)


def test_who_wants_none_any_more_is_passed_over() -> None:
    slots = Slots(1)
    Waiting(slots, 1)
    gone, next_one = Waiting(slots, 1), Waiting(slots, 1)
    gone.wants = 0
    slots.give_back()
    assert (gone.has, next_one.has) == (0, 1)


def test_above_the_limit_nobody_is_told() -> None:
    slots = Slots(1)
    Waiting(slots, 1)
    slots.take_anyway()
    waiting = Waiting(slots, 1)
    slots.give_back()
    assert waiting.told == 0
    slots.give_back()
    assert waiting.has == 1


def test_who_gives_its_slot_back_at_once_tells_the_others_in_between() -> None:
    """A hook that cannot be started gives its slot back while others are being told."""
    slots, told = Slots(1), []

    def fails(name: str) -> None:
        told.append(name)
        assert slots.take()
        slots.give_back()

    slots.take_anyway()
    for name in ("first", "second", "third"):
        slots.tell_when_free(partial(fails, name))
    slots.give_back()
    assert (sorted(told), slots.taken) == (["first", "second", "third"], 0)
