"""Owns who waits for whom: ``after``, readiness and exclusive resources among the hooks of one object."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from archivebox.contract.hook import Hook

OUTPUT_STEP = 5
"""The step whose hooks keep the settled page; those of later steps that need the page run with them."""


@dataclass(frozen=True, slots=True)
class Waits:
    """What each hook waits for.

    ``after``: hooks whose end (or readiness, where they declare it) must have come, by ``x-hooks`` or, for foreground
    hooks that ``x-hooks`` does not describe, by their place in their step. ``ready``: background hooks
    that a hook waits for until they are ready. ``giving_way``: hooks that are after another holder of a resource of
    theirs; until their turn has come they let those behind them have it. ``warnings``: what of the declarations was
    ignored.
    """

    after: Mapping[Hook, tuple[Hook, ...]] = field(default_factory=dict)
    ready: Mapping[Hook, tuple[Hook, ...]] = field(default_factory=dict)
    giving_way: frozenset[Hook] = frozenset()
    warnings: tuple[str, ...] = ()


def names(hook: Hook) -> frozenset[str]:
    """What ``after`` may call a hook: its file name, that without extension, what it does, or its plugin."""
    stem = hook.file_name.removesuffix(f".{hook.name.extension}")
    return frozenset({hook.file_name, stem, hook.name.what, hook.plugin})


def waits(hooks: Iterable[Hook]) -> Waits:
    """Who waits for whom among the hooks of one event.

    An ``after`` that names a later step, or what works until all steps are over, or that closes a circle, would never
    be fulfilled: it is left out with a warning. One that names nothing here is fulfilled (absent or disabled).
    """
    ordered = sorted(hooks, key=lambda hook: hook.sort_key)
    opening = opening_step(ordered)
    ready = {hook: tuple(_ready_before(hook, ordered, opening)) for hook in ordered if _waits_for_readiness(hook)}
    edges = {hook: {*ready.get(hook, ())} for hook in ordered}
    giving_way = frozenset(hook for hook in ordered if _gives_way(hook, ordered))
    for earlier, later in _exclusive_pairs(ordered, giving_way):
        edges[later].add(earlier)
    warnings: list[str] = []
    steps = {hook: _runs_in(hook, ready.get(hook, ()), opening) for hook in ordered}
    after = {hook: tuple(_possible(hook, steps, edges, warnings)) for hook in ordered if hook.after}
    after |= {hook: tuple(_before_in_step(hook, ordered, edges)) for hook in ordered if _keeps_order(hook)}
    return Waits(after, ready, giving_way, tuple(warnings))


def opening_step(hooks: Iterable[Hook]) -> int:
    """The step in which the live page is opened; 0 where nothing does."""
    return min((hook.step for hook in hooks if hook.opens_page), default=0)


def background_step(hook: Hook, opening: int) -> int:
    """The step in which a background hook starts: not before that of the page that it needs."""
    return max(hook.step, opening) if hook.page else hook.step


def _waits_for_readiness(hook: Hook) -> bool:
    """A background hook starts at once where it is described; authors of the others rely on the order of names."""
    return not hook.background or not hook.described


def _keeps_order(hook: Hook) -> bool:
    """A foreground hook that nothing describes: authors of both earlier dialects rely on the order of names."""
    return not hook.background and not hook.described


def _before_in_step(hook: Hook, ordered: Sequence[Hook], edges: dict[Hook, set[Hook]]) -> Iterator[Hook]:
    """Those before it in its step whose end it waits for: its like, and what navigates; never in a circle."""
    for other in ordered:
        if other is hook:
            return
        is_waited_for = _keeps_order(other) or (other.session and not other.background)
        if other.step == hook.step and is_waited_for and not _reaches(other, hook, edges):
            edges[hook].add(other)
            yield other


def _ready_before(hook: Hook, ordered: Sequence[Hook], opening: int) -> Iterator[Hook]:
    """Those of earlier names, but for what starts in a later step: that comes once this one is over."""
    for other in ordered:
        if other is hook:
            return
        if other.background and other.ready and background_step(other, opening) <= hook.step:
            yield other


def _gives_way(hook: Hook, ordered: Sequence[Hook]) -> bool:
    sharing = (other for other in ordered if other is not hook and not set(hook.exclusive).isdisjoint(other.exclusive))
    return bool(hook.after) and any(not names(other).isdisjoint(hook.after) for other in sharing)


def _runs_in(hook: Hook, ready: Sequence[Hook], opening: int) -> int:
    """The step of a hook; one that needs the page and waits for nothing later runs with the outputs at the latest."""
    if hook.background:
        return background_step(hook, opening)
    waits_for_later = hook.after or any(other.step > OUTPUT_STEP for other in ready)
    return hook.step if waits_for_later or not hook.page else min(hook.step, OUTPUT_STEP)


def _exclusive_pairs(ordered: Sequence[Hook], giving_way: frozenset[Hook]) -> Iterator[tuple[Hook, Hook]]:
    """Neighbours among the foreground holders of one resource in one step: they take it in this order."""
    last: dict[tuple[int, str], Hook] = {}
    for hook in ordered:
        for resource in hook.exclusive if not hook.background else ():
            earlier = last.get((hook.step, resource))
            if earlier is not None:
                yield earlier, hook
            if hook not in giving_way:
                last[hook.step, resource] = hook


def _possible(
    hook: Hook, steps: Mapping[Hook, int], edges: dict[Hook, set[Hook]], warnings: list[str]
) -> Iterator[Hook]:
    for name in hook.after:
        for other in steps:
            if other is hook or name not in names(other):
                continue
            if problem := _problem(hook, other, steps, edges):
                warnings.append(f"{hook.plugin}/{hook.file_name} is after {other.file_name}, {problem}; it is ignored")
            else:
                edges[hook].add(other)
                yield other


def _problem(hook: Hook, other: Hook, steps: Mapping[Hook, int], edges: Mapping[Hook, set[Hook]]) -> str:
    if steps[other] > steps[hook]:
        return "which runs in a later step"
    if other.works_on and not (hook.derived or hook.finite):
        return "which works until it is told to stop, so its end may never come"
    return "which in turn waits for it" if _reaches(other, hook, edges) else ""


def _reaches(start: Hook, goal: Hook, edges: Mapping[Hook, set[Hook]]) -> bool:
    seen, stack = {start}, [start]
    while stack:
        current = stack.pop()
        if current is goal:
            return True
        fresh = edges[current] - seen
        seen |= fresh
        stack.extend(fresh)
    return False
