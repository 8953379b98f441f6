"""A slot given back wakes whoever can use it, and nobody else."""

from functools import partial

from archivebox.workers.execute.capacity.slots import HookSlot, HookSlots


class Waiting:
    """Somebody who wants so many slots and takes one each time it is told."""

    def __init__(self, slots: HookSlots, wants: int) -> None:
        self.slots, self.wants, self.told = slots, wants, 0
        self.held: list[HookSlot] = []
        self.acquire()

    @property
    def has(self) -> int:
        return len(self.held)

    def acquire(self) -> None:
        while self.wants and (slot := self.slots.acquire()):
            self.wants -= 1
            self.held.append(slot)
        if self.wants:
            self.slots.notify_when_free(self.tell)

    def tell(self) -> None:
        self.told += 1
        self.acquire()

    def release(self) -> None:
        self.held.pop().release()


def test_one_slot_wakes_one_and_the_others_keep_their_places() -> None:
    slots = HookSlots(1)
    holder, first, second = (Waiting(slots, 1) for _ in range(3))
    holder.release()
    assert (holder.told, first.has, first.told, second.told) == (0, 1, 1, 0)
    first.release()
    assert (first.told, second.has) == (1, 1)


def test_who_wants_none_any_more_is_passed_over() -> None:
    slots = HookSlots(1)
    holder = Waiting(slots, 1)
    gone, next_one = Waiting(slots, 1), Waiting(slots, 1)
    gone.wants = 0
    holder.release()
    assert (gone.has, next_one.has) == (0, 1)


def test_above_the_limit_nobody_is_told() -> None:
    slots = HookSlots(1)
    holder = Waiting(slots, 1)
    adopted = slots.acquire_over_limit()
    waiting = Waiting(slots, 1)
    holder.release()
    assert waiting.told == 0
    adopted.release()
    assert waiting.has == 1


def test_the_place_of_a_late_one_is_free_as_long_as_there_are_not_too_many_of_them() -> None:
    slots = HookSlots(1)
    holder, first, second = (Waiting(slots, 1) for _ in range(3))
    assert holder.held[0].become_late()
    assert (first.has, second.has) == (1, 0)
    assert not first.held[0].become_late()
    holder.release()
    assert first.held[0].become_late()
    assert second.has == 1


def test_a_place_is_given_back_once() -> None:
    slots = HookSlots(1)
    holder = Waiting(slots, 1)
    slot = holder.held[0]
    slot.release()
    slot.release()
    assert slot.become_late()
    assert (slots.taken, slots.late) == (0, 0)


def test_who_is_told_may_give_its_place_back_at_once() -> None:
    """As a hook does whose interpreter is missing."""
    slots = HookSlots(1)
    holder = Waiting(slots, 1)
    tries: list[int] = []

    def try_in_vain(number: int) -> None:
        tries.append(number)
        slot = slots.acquire()
        if slot is not None:
            slot.release()

    for number in range(3):
        slots.notify_when_free(partial(try_in_vain, number))
    holder.release()
    assert sorted(tries) == [0, 1, 2]
