"""A slot given back wakes whoever can use it, and nobody else."""

from functools import partial

from archivebox.workers.execute.places import Slot, Slots


class Waiting:
    """Somebody who wants so many slots and takes one each time it is told."""

    def __init__(self, slots: Slots, wants: int) -> None:
        self.slots, self.wants, self.told = slots, wants, 0
        self.places: list[Slot] = []
        self.take()

    @property
    def has(self) -> int:
        return len(self.places)

    def take(self) -> None:
        while self.wants and (place := self.slots.take()):
            self.wants -= 1
            self.places.append(place)
        if self.wants:
            self.slots.tell_when_free(self.tell)

    def tell(self) -> None:
        self.told += 1
        self.take()

    def give_back(self) -> None:
        self.places.pop().give_back()


def test_one_slot_wakes_one_and_the_others_keep_their_places() -> None:
    slots = Slots(1)
    holder, first, second = (Waiting(slots, 1) for _ in range(3))
    holder.give_back()
    assert (holder.told, first.has, first.told, second.told) == (0, 1, 1, 0)
    first.give_back()
    assert (first.told, second.has) == (1, 1)


def test_who_wants_none_any_more_is_passed_over() -> None:
    slots = Slots(1)
    holder = Waiting(slots, 1)
    gone, next_one = Waiting(slots, 1), Waiting(slots, 1)
    gone.wants = 0
    holder.give_back()
    assert (gone.has, next_one.has) == (0, 1)


def test_above_the_limit_nobody_is_told() -> None:
    slots = Slots(1)
    holder = Waiting(slots, 1)
    adopted = slots.take_anyway()
    waiting = Waiting(slots, 1)
    holder.give_back()
    assert waiting.told == 0
    adopted.give_back()
    assert waiting.has == 1


def test_the_place_of_a_late_one_is_free_as_long_as_there_are_not_too_many_of_them() -> None:
    slots = Slots(1)
    holder, first, second = (Waiting(slots, 1) for _ in range(3))
    assert holder.places[0].become_late()
    assert (first.has, second.has) == (1, 0)
    assert not first.places[0].become_late()
    holder.give_back()
    assert first.places[0].become_late()
    assert second.has == 1


def test_a_place_is_given_back_once() -> None:
    slots = Slots(1)
    holder = Waiting(slots, 1)
    place = holder.places[0]
    place.give_back()
    place.give_back()
    assert place.become_late()
    assert (slots.taken, slots.late) == (0, 0)


def test_who_is_told_may_give_its_place_back_at_once() -> None:
    """As a hook does whose interpreter is missing."""
    slots = Slots(1)
    holder = Waiting(slots, 1)
    tries: list[int] = []

    def try_in_vain(number: int) -> None:
        tries.append(number)
        place = slots.take()
        if place is not None:
            place.give_back()

    for number in range(3):
        slots.tell_when_free(partial(try_in_vain, number))
    holder.give_back()
    assert sorted(tries) == [0, 1, 2]
