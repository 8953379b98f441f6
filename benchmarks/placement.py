"""A simulation of placement, in which no program runs: 1,000 machines share a million due pages of 2,000 crawls.

Three ways to decide which machine opens a browser for which crawl: each for itself, as the rows alone have it; as
`workers/queue/placement.py` does; and by a queue of turns, as a job queue such as Procrastinate would have them.
"""

import heapq
import itertools
import random
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from benchmarks.finding import Bound, Finding, quantile

MACHINES, BROWSERS, AT_ONCE = 1_000, 4, 4
"""Machines; of each the browsers (CRAWLS_IN_FLIGHT) and pages (SNAPSHOTS_IN_FLIGHT)."""
PAGES, CRAWLS = 1_000_000, 2_000
PER_HOST, OF_HOST = 2, 100
"""Pages of a host at a time (DOMAIN_CONCURRENCY), and at most in all."""
PAGE, START, CRAWL_TURN, TURN = 5.0, 1.5, 300.0, 60.0
"""Seconds: of a page on average; until a browser is up; until a browser yields to another crawl; of a turn."""
SINGLES, SINGLES_WITHIN = 500, 1_000.0
"""Crawls of one page, whose owners wait for them, that come in the first seconds of all this."""


class Crawl:
    """Its due pages by host; ``open`` has a host once for each page of it that may begin now."""

    def __init__(self, pages: int, arrives_at: float = 0.0) -> None:
        self.size = self.left = pages
        self.arrives_at = arrives_at
        hosts = -(-pages // OF_HOST)
        due = [pages // hosts + (host < pages % hosts) for host in range(hosts)]
        self.open = deque(host for host in range(hosts) for _ in range(min(PER_HOST, due[host])))
        self.waiting = [max(0, count - PER_HOST) for count in due]
        self.at_work = self.placed = 0
        self.holders: dict[Machine, None] = {}
        """Machines that have a browser for it."""
        self.idle: dict[Machine, None] = {}
        """Those of them that found nothing."""
        self.seconds = 0.0
        """From its arrival until its last page has ended."""

    def end_page(self, host: int) -> None:
        self.at_work -= 1
        self.left -= 1
        if self.waiting[host]:
            self.waiting[host] -= 1
            self.open.append(host)

    @property
    def turns_wanted(self) -> int:
        """How many machines its pages can use."""
        return -(-(len(self.open) + self.at_work) // AT_ONCE)


@dataclass(eq=False, slots=True)
class Machine:
    """Its browsers that are up, with the pages in each; those that start, and those that close once they are empty."""

    pages: int = 0
    up: dict[Crawl, int] = field(default_factory=dict)
    starting: set[Crawl] = field(default_factory=set)
    closing: set[Crawl] = field(default_factory=set)
    cursor: int = 0

    def has(self, crawl: Crawl) -> bool:
        return crawl in self.up or crawl in self.starting

    @property
    def has_room(self) -> bool:
        """Whether it opens another browser."""
        return self.pages + len(self.starting) < AT_ONCE and len(self.up) + len(self.starting) < BROWSERS


class Fleet(ABC):
    """A run from the first page to the last; what places crawls on machines is a subclass's."""

    lifetime: ClassVar[float]
    """Seconds after which a browser yields to another crawl."""

    def __init__(self, crawls: list[Crawl]) -> None:
        self.crawls = crawls
        self.now = self.work = 0.0
        self.starts = 0
        self._random = random.Random(20)
        self._events: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._numbers = itertools.count()
        self._idle: dict[Machine, None] = {}

    def run(self) -> None:
        for crawl in self.crawls:
            self._after(crawl.arrives_at, self._arrive, crawl)
        for machine in [Machine() for _ in range(MACHINES)]:
            self._after(0, self._fill, machine)
        while self._events:
            self.now, _, event, arguments = heapq.heappop(self._events)
            event(*arguments)

    @property
    def opened(self) -> float:
        """Browsers for 1,000 pages."""
        return self.starts / sum(crawl.size for crawl in self.crawls) * 1000

    @property
    def waits(self) -> list[float]:
        """Seconds until crawls of one page were done."""
        return [crawl.seconds for crawl in self.crawls if crawl.size == 1]

    # --- what differs ---

    @abstractmethod
    def _next_crawl(self, machine: Machine) -> Crawl | None:
        """The crawl for which the machine opens a browser."""

    @abstractmethod
    def _is_over(self, crawl: Crawl) -> bool:
        """Whether an empty browser of this crawl is closed."""

    @abstractmethod
    def _has_pages(self, crawl: Crawl) -> None:
        """Pages of the crawl may begin."""

    # --- what happens ---

    def _after(self, seconds: float, event: Callable[..., None], *arguments: Any) -> None:
        heapq.heappush(self._events, (self.now + seconds, next(self._numbers), event, arguments))

    def _arrive(self, crawl: Crawl) -> None:
        self._has_pages(crawl)
        self._wake(crawl)

    def _fill(self, machine: Machine) -> None:
        """Begin what can begin, then open browsers for what else there is."""
        for crawl in [crawl for crawl in machine.up if crawl not in machine.closing]:
            while machine.pages < AT_ONCE and crawl.open:
                self._begin(machine, crawl)
            self._close(machine, crawl)
            if crawl in machine.up and machine.pages < AT_ONCE:
                crawl.idle[machine] = None
        while machine.has_room and (found := self._next_crawl(machine)):
            machine.starting.add(found)
            self.starts += 1
            self._after(START, self._is_up, machine, found)
        if machine.has_room:
            self._idle[machine] = None

    def _is_up(self, machine: Machine, crawl: Crawl) -> None:
        machine.starting.discard(crawl)
        machine.up[crawl] = 0
        crawl.holders[machine] = None
        self._after(self.lifetime, self._yield, machine, crawl)
        self._fill(machine)

    def _yield(self, machine: Machine, crawl: Crawl) -> None:
        if crawl in machine.up:
            machine.closing.add(crawl)
            self._close(machine, crawl)
            self._fill(machine)

    def _begin(self, machine: Machine, crawl: Crawl) -> None:
        host, seconds = crawl.open.popleft(), self._random.expovariate(1 / PAGE)
        machine.pages += 1
        machine.up[crawl] += 1
        crawl.at_work += 1
        self.work += seconds
        self._after(seconds, self._end, machine, crawl, host)

    def _end(self, machine: Machine, crawl: Crawl, host: int) -> None:
        machine.pages -= 1
        machine.up[crawl] -= 1
        crawl.end_page(host)
        if not crawl.left:
            crawl.seconds = self.now - crawl.arrives_at
        for holder in [machine] if crawl.left else list(crawl.holders):
            self._close(holder, crawl)
            self._fill(holder)
        self._has_pages(crawl)
        self._wake(crawl)

    def _close(self, machine: Machine, crawl: Crawl) -> None:
        """Close a browser that is empty, if it has yielded or its crawl is over."""
        if crawl in machine.up and not machine.up[crawl] and (crawl in machine.closing or self._is_over(crawl)):
            del machine.up[crawl], crawl.holders[machine]
            machine.closing.discard(crawl)
            crawl.idle.pop(machine, None)
            self._has_pages(crawl)

    def _wake(self, crawl: Crawl) -> None:
        """Have a machine look for work: one that has a browser for the crawl, or else any with room for another."""
        woken = crawl.idle or self._idle
        if crawl.open and woken:
            machine = next(iter(woken))
            del woken[machine]
            self._fill(machine)


class ByRows(Fleet):
    """Each machine for itself: it goes through the open crawls, and keeps a browser until its crawl has ended."""

    lifetime = CRAWL_TURN

    def _next_crawl(self, machine: Machine) -> Crawl | None:
        for step in range(len(self.crawls)):
            place = (machine.cursor + step) % len(self.crawls)
            crawl = self.crawls[place]
            if crawl.arrives_at <= self.now and crawl.left > crawl.at_work and not machine.has(crawl):
                machine.cursor = place + 1
                return crawl
        return None

    def _is_over(self, crawl: Crawl) -> bool:
        return not crawl.left

    def _has_pages(self, crawl: Crawl) -> None:
        """Machines find out by looking."""


class ByWaitingPages(ByRows):
    """A crawl is open on one machine, and on another only where more of its pages could begin than these machines are.

    That is `workers/queue/placement.py`, but for the seconds that pages wait there before another machine joins.
    """

    def __init__(self, crawls: list[Crawl]) -> None:
        super().__init__(crawls)
        self._wanting: dict[Crawl, None] = {}

    def _next_crawl(self, machine: Machine) -> Crawl | None:
        found = next((crawl for crawl in self._wanting if not machine.has(crawl)), None)
        if found is not None:
            del self._wanting[found]
            found.placed += 1
            self._has_pages(found)
        return found

    def _has_pages(self, crawl: Crawl) -> None:
        if self._wants_another(crawl):
            self._wanting.setdefault(crawl)

    def _wants_another(self, crawl: Crawl) -> bool:
        return len(crawl.open) > crawl.placed

    def _close(self, machine: Machine, crawl: Crawl) -> None:
        before = len(crawl.holders)
        super()._close(machine, crawl)
        crawl.placed -= before - len(crawl.holders)
        self._has_pages(crawl)


class ByTurns(ByWaitingPages):
    """A queue of turns: each lasts a minute at most, and a crawl has one in the queue at a time.

    More of one crawl would have a large one queue hundreds before the first of a small one.
    """

    lifetime = TURN

    def _wants_another(self, crawl: Crawl) -> bool:
        return bool(crawl.open) and crawl.placed < crawl.turns_wanted

    def _is_over(self, crawl: Crawl) -> bool:
        return not crawl.open


def crawls() -> list[Crawl]:
    """Few have most of the pages (Zipf's law, exponent 1), and crawls of one page come while those are at work."""
    chance = random.Random(2026)
    weights = [1 / rank for rank in range(1, CRAWLS + 1)]
    found = [Crawl(max(1, round(PAGES * weight / sum(weights)))) for weight in weights]
    chance.shuffle(found)
    return found + [Crawl(1, arrives_at=chance.uniform(0, SINGLES_WITHIN)) for _ in range(SINGLES)]


def run(_rounds: int) -> list[Finding]:
    """The same each time, however many rounds are asked for."""
    _, ours, _ = fleets = [kind(crawls()) for kind in (ByRows, ByWaitingPages, ByTurns)]
    for fleet in fleets:
        fleet.run()
    least = ours.work / MACHINES / AT_ONCE
    return [
        compared("a million pages on 1,000 machines, s", [[fleet.now] for fleet in fleets], least=least),
        compared("browsers opened for 1,000 pages", [[fleet.opened] for fleet in fleets]),
        compared("a crawl of one page beside them, s", [fleet.waits for fleet in fleets]),
    ]


def compared(name: str, values: list[list[float]], **notes: float | str) -> Finding:
    """Ours against machines that each work for themselves; a queue of turns is noted."""
    alone, ours, turns = values
    notes |= {"by turns, median": quantile(turns, 0.5), "p95": quantile(turns, 0.95), "ours, p95": quantile(ours, 0.95)}
    return Finding(name, "", Bound.RATIO, 1, ours, alone, "each for itself", notes=notes)
