"""The hooks of simulated pages and crawls: which there are, what their processes come to, and how they end."""

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol
from uuid import UUID

from archivebox.contract.applies import Applies, read_applies
from archivebox.contract.hook import TAB, Hook
from archivebox.contract.hooknames import parse_hook_name
from archivebox.contract.outcomes import EndedRun, Retry, Status
from archivebox.contract.reasons import Reason
from archivebox.contract.records import EndReason


class BrokenPromiseError(AssertionError):
    """Something that is promised did not hold in this life."""


@dataclass(slots=True, eq=False)
class SimulatedRun:
    """One process of one hook."""

    key: UUID
    hook: Hook
    began: datetime
    fate: str
    """What it comes to if nobody stops it."""
    epoch: int
    """How many times the page had been opened when it began."""
    worker: int
    exit_code: int | None = None
    ended: datetime | None = None
    told: EndReason | None = None
    """What it was told to stop for."""
    is_ready: bool = False
    is_waiting: bool = False
    is_unwatched: bool = False
    name: str = field(init=False)
    order: tuple[int, int] = (0, 0)
    """When it began and when it ended among all that happened, whatever the clock said."""

    def __post_init__(self) -> None:
        self.name = self.hook.file_name

    @property
    def is_alive(self) -> bool:
        return self.ended is None


@lru_cache(maxsize=1_000)
def hook_named(file_name: str, plugin: str = "", **flags: Any) -> Hook:
    """A hook with what its name says of it, and ``flags`` as in ``x-hooks``."""
    name = parse_hook_name(file_name)
    if name is None:
        raise ValueError(file_name)
    fields: dict[str, Any] = {"ready": name.daemon, "finite": name.finite, "described": True} | flags
    return Hook(plugin or name.what, Path(file_name), name, **fields)


@lru_cache(maxsize=1)
def _of_html() -> Applies:
    return read_applies({"mime": "text/html"})[0]


def some_hooks(dice: random.Random) -> Iterator[Hook]:
    """Hooks of one page: with a live page or without, and some of each kind."""
    with_page = dice.random() < 0.75

    def maybe(percent: int, file_name: str, **flags: Any) -> Iterator[Hook]:
        if dice.random() * 100 < percent:
            yield hook_named(f"on_Snapshot__{file_name}", **flags)

    yield from maybe(20, "05_gate.py", gate=True)
    yield from maybe(40, "10_early.py")
    yield from maybe(30, "11_plain.bg.py", described=False)
    yield from maybe(30, "12_load.finite.bg.py", plugin="wget")
    if with_page:
        yield hook_named("on_Snapshot__20_tab.daemon.bg.py", session=True, described=dice.random() < 0.8)
        yield from maybe(50, "25_record.daemon.bg.py", session=True, page=True, after=("tab",))
        yield hook_named("on_Snapshot__30_go.py", session=True, page=True)
        yield from maybe(40, "49_settle.py", session=True, page=True)
        yield from maybe(30, "15_icon.finite.bg.py", page=True)
        yield from maybe(60, "50_dom.py", page=True, exclusive=(TAB,))
        yield from maybe(60, "51_shot.py", page=True, exclusive=(TAB,), ready=True)
        yield from maybe(40, "52_pdf.py", page=True, exclusive=(TAB,), after=("dom",))
        yield from maybe(30, "61_late.py", page=True)
    yield from maybe(50, "55_wget.py", applies=_of_html(), plugin="wget")
    yield from maybe(40, "60_read.py", after=("dom",))
    yield from maybe(40, "62_media.finite.bg.py", applies=_of_html())
    yield from maybe(50, "80_text.py", derived=True, sources=("dom", "wget"))
    yield from maybe(50, "90_index.py", derived=True)
    yield from maybe(50, "93_hashes.py", derived=True)


def fate_of(hook: Hook, dice: random.Random, *, is_calm: bool) -> str:
    """What a process comes to."""
    if hook.background and not hook.finite and dice.random() < (0.97 if is_calm else 0.9):
        return "listens"
    fates = ["succeeded"] * 60 + ["noresults"] * 5 + ["failed"] * 4 + ["skipped"] * 2 * (not hook.session)
    if not is_calm:
        fates += ["later"] * 5 + ["crashed"] * 6 + ["killed"] * 4 + ["timeout"] * 2
        fates += ["new_page"] * 6 * hook.page + ["waits"] * 4 * (TAB in hook.exclusive)
        fates += (["nothing_came"] * 4 + ["refused"] * 5) * hook.is_navigation
    return dice.choice(fates)


def end_of(run: SimulatedRun, *, taken_over: bool, released: bool) -> EndedRun:
    """A run as the contract's table of outcomes speaks of it."""
    hook = run.hook
    said: tuple[Status | None, Reason | None, Retry | None] = {
        "succeeded": (Status.SUCCEEDED, None, None),
        "listens": (Status.SUCCEEDED, None, None),
        "waits": (Status.SUCCEEDED, None, None),
        "noresults": (Status.NORESULTS, None, None),
        "failed": (Status.FAILED, None, None),
        "later": (Status.FAILED, None, Retry.LATER),
        "new_page": (Status.FAILED, None, Retry.NEW_PAGE),
        "refused": (Status.FAILED, Reason.SERVER_BUSY, Retry.LATER),
        "nothing_came": (Status.FAILED, Reason.NO_ANSWER, Retry.LATER),
    }.get(run.fate, (None, None, None))
    if run.exit_code != 0:
        said = (None, None, None)
    why = EndReason.TIMEOUT if run.fate == "timeout" and run.told is None else EndReason.EXITED
    reason = run.told or (EndReason.SIGNALLED if (run.exit_code or 0) < 0 else why)
    return EndedRun(
        run.exit_code, reason, *said, wrote_files=True, wrote_bytes=True, background=hook.background,
        finite=hook.finite, listens=hook.listens, session=hook.session, taken_over=taken_over,
        unwatched=run.is_unwatched, released=released,
    )  # fmt: skip


class RandomLife(Protocol):
    """What a seed decides."""

    def live(self) -> None: ...


def broken_in(life: Callable[[int], RandomLife], seeds: Iterable[int]) -> list[str]:
    """The promises that so many lives break, each with its seed."""
    broken = []
    for seed in seeds:
        try:
            life(seed).live()
        except AssertionError as error:
            broken.append(f"seed {seed}: {error}")
    return broken
