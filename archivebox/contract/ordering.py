"""Owns who waits for whom: ``after``, readiness and exclusive resources among the hooks of one object."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from archivebox.contract.hook import Hook


@dataclass(frozen=True, slots=True)
class Waits:
    """What each hook waits for.

    ``after``: hooks whose end (or readiness, where they declare it) must have come. ``ready``: background hooks
    that a hook waits for until they are ready. ``warnings``: what of the declarations was ignored.
    """

    after: Mapping[Hook, tuple[Hook, ...]] = field(default_factory=dict)
    ready: Mapping[Hook, tuple[Hook, ...]] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def names(hook: Hook) -> frozenset[str]:
    """What ``after`` may call a hook: its file name, that without extension, what it does, or its plugin."""
    stem = hook.file_name.removesuffix(f".{hook.name.extension}")
    return frozenset({hook.file_name, stem, hook.name.what, hook.plugin})


def waits(hooks: Iterable[Hook]) -> Waits:
    """Who waits for whom among the hooks of one event.

    An ``after`` that names a later step, or that closes a circle, would never be fulfilled: it is left out with a
    warning. One that names nothing here is fulfilled (absent or disabled).
    """
    ordered = sorted(hooks, key=lambda hook: hook.sort_key)
    ready = {hook: tuple(_ready_before(hook, ordered)) for hook in ordered if _waits_for_readiness(hook)}
    edges = {hook: {*ready.get(hook, ())} for hook in ordered}
    for earlier, later in _exclusive_pairs(ordered):
        edges[later].add(earlier)
    warnings: list[str] = []
    after = {hook: tuple(_possible(hook, ordered, edges, warnings)) for hook in ordered if hook.after}
    return Waits(after, ready, tuple(warnings))


def _waits_for_readiness(hook: Hook) -> bool:
    """A background hook starts at once where it is described; authors of the others rely on the order of names."""
    return not hook.background or not hook.described


def _ready_before(hook: Hook, ordered: Sequence[Hook]) -> Iterator[Hook]:
    for other in ordered:
        if other is hook:
            return
        if other.background and other.ready:
            yield other


def _exclusive_pairs(ordered: Sequence[Hook]) -> Iterator[tuple[Hook, Hook]]:
    """Neighbours among the foreground holders of one resource in one step: they take it in this order."""
    last: dict[tuple[int, str], Hook] = {}
    for hook in ordered:
        for resource in hook.exclusive if not hook.background else ():
            earlier = last.get((hook.step, resource))
            if earlier is not None:
                yield earlier, hook
            last[hook.step, resource] = hook


def _possible(hook: Hook, ordered: Sequence[Hook], edges: dict[Hook, set[Hook]], warnings: list[str]) -> Iterator[Hook]:
    for name in hook.after:
        for other in ordered:
            if other is hook or name not in names(other):
                continue
            problem = _problem(hook, other, edges)
            if problem:
                warnings.append(f"{hook.plugin}/{hook.file_name} is after {other.file_name}, {problem}; it is ignored")
            else:
                edges[hook].add(other)
                yield other


def _problem(hook: Hook, other: Hook, edges: Mapping[Hook, set[Hook]]) -> str:
    if other.step > hook.step:
        return "which runs in a later step"
    if _reaches(other, hook, edges):
        return "which in turn waits for it"
    return ""


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
