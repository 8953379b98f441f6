"""The words of a plan: a hook in it, what is to be done (actions), and what has happened (events).

Each action is answered by an event, which its docstring names.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import NamedTuple
from uuid import UUID

from archivebox.contract.applies import PageFacts
from archivebox.contract.binaries import BinaryRequest
from archivebox.contract.hook import TAB, Hook
from archivebox.contract.ordering import OUTPUT_STEP
from archivebox.contract.outcomes import FINAL_STATUSES, EndedRun, Outcome, Status

PAGE_FOUND = frozenset({"succeeded", "noresults"})
"""Results of a navigation that found the page; those of hooks that say nothing are without results."""
SETTLED = FINAL_STATUSES | {"backoff"}
"""Final, or waiting for a retry that does not hold up this pass."""
SKIPPED = Outcome(Status.SKIPPED, counts=False)


class WaitingFor(Enum):
    """What a hook whose turn it is waits for."""

    PROGRAM = "a program that is being looked for, or space on the disk"
    SLOT = "a place among the hooks at work, a tab, or a resource of the machine"


@dataclass(slots=True, eq=False)
class Planned:
    """One hook in the plan of one object, and what has become of it. Only :meth:`HookPlan.apply` changes it."""

    hook: Hook
    step: int = field(init=False)
    status: str = "queued"
    result_id: UUID | None = None
    attempts: int = 0
    reason: str = ""
    """Why it is settled as it is, as its row says."""
    retry_at: datetime | None = None
    """When it is tried again; None where this worker has not settled it so."""
    replay: bool = False
    """Run again for its effect on the live page; its result is final, and replaced when this run has ended."""
    final_status: str = ""
    """The result's own status while the hook is replayed."""
    waiting_for: WaitingFor | None = None
    has_run: bool = False
    """Whether it was started, or taken over, since it was last queued."""
    is_running: bool = False
    """Whether a process of it runs, or has not been read to its end."""
    has_exited: bool = False
    """Whether its process has exited; what that left is ended, and its output read, before the run has ended."""
    said_ready: bool = False
    is_late: bool = False
    """Its ready time is over; nobody waits for it any longer."""
    is_stopping: bool = False
    is_unjudged: bool = False
    """Whether its run ended while no worker had it, and is still to be judged."""
    started_at: datetime | None = None
    """When it was started last, and when that run ended, in whosever hands."""
    ended_at: datetime | None = None

    def __post_init__(self) -> None:
        self.step = self.hook.step

    @property
    def is_queued(self) -> bool:
        return self.status == "queued"

    @property
    def is_settled(self) -> bool:
        return self.status in SETTLED

    @property
    def runs_until_stopped(self) -> bool:
        return self.hook.background and not self.hook.finite

    @property
    def may_use_page(self) -> bool:
        """Whether it may listen to the page without saying so, as a background hook does that knows no such word."""
        declared = self.hook.page or self.hook.session
        return self.runs_until_stopped and not declared and self.step <= OUTPUT_STEP

    @property
    def is_page_bound(self) -> bool:
        """Whether it has nothing to do before the page has come, though its name may say an earlier step."""
        return self.hook.page and self.hook.background and self.hook.finite and not self.hook.session

    @property
    def released_page(self) -> bool:
        """Whether it has said that it needs the live page no more, and goes on with what it took from there."""
        declared = self.hook.ready and self.hook.page and not self.hook.background
        return declared and self.has_run and self.said_ready

    @property
    def holds(self) -> tuple[str, ...]:
        """What no other may use while it runs."""
        held = self.hook.exclusive
        return tuple(name for name in held if name != TAB) if self.released_page else held

    @property
    def is_ready(self) -> bool:
        """Whether others may rely on it, or need not wait for it any more."""
        return self.is_settled or self.is_late or (self.has_run and (self.said_ready or not self.is_running))

    @property
    def is_expected(self) -> bool:
        """Whether it is about to run, or has run, for this object."""
        return self.is_queued or self.has_run

    @property
    def is_over(self) -> bool:
        """Whether those that are ``after`` it may start."""
        return self.is_ready if self.hook.ready else self.is_settled


class Phase(Enum):
    """How far a Snapshot has come after its last step."""

    STEPS = "steps"
    STOPPING = "stopping"
    CLOSING_PAGE = "closing the page"
    FINISHING = "only downloads are left"
    DERIVING = "deriving"
    LINKING = "linking to an unchanged version"
    ENDING = "running on_SnapshotEnd hooks"
    SEALING = "sealing"


# --- what is to be done, with the event that answers it ----------------------------------------------------------


class Start(NamedTuple):
    """Start a hook, if there is a place for it: Started, NotStarted, or Settled if it cannot be started."""

    item: Planned
    at_end: bool = False
    """One of the end, which takes no place."""


class AwaitProgram(NamedTuple):
    """Have a program looked for: NotStarted."""

    item: Planned
    request: BinaryRequest


class Settle(NamedTuple):
    """Put the outcome of a hook on record: Settled. ``of_run``: so are the files and words of the run it is of.

    ``retry_at``: when it is tried again, where something else than its back-off says so.
    """

    item: Planned
    result: Outcome
    reason: str = ""
    retry_at: datetime | None = None
    of_run: bool = False


class Requeue(NamedTuple):
    """Put a hook back into the queue; with ``was_cut_off`` it counts as finite from now on."""

    item: Planned
    reason: str = ""
    was_cut_off: bool = False
    removes_files: bool = False


class KeepEarlier(NamedTuple):
    """Leave what is on record of the page, which did not come this time; Done says when it is tried again."""

    item: Planned
    facts: PageFacts
    after: int


class Stop(NamedTuple):
    """Tell background hooks to stop, all at the same moment.

    ``frees_tab``: the next tab may open while theirs closes. ``loses_page``: the page is opened anew after that.
    """

    items: Sequence[Planned]
    frees_tab: bool = False
    loses_page: bool = False


class OpenAnew(NamedTuple):
    """Have all session hooks run anew; Done says when."""


class YieldTab(NamedTuple):
    """Let the next page have the tab's place, while the hook that holds the tab waits for a server."""

    item: Planned


class ReacquireTab(NamedTuple):
    """Take a place for the tab again, or NotStarted of the hook that needs it."""

    item: Planned


class BeginStep(NamedTuple):
    """The step before is over."""

    step: int


class Enter(NamedTuple):
    """A phase begins, with what is to be done in it."""

    phase: Phase


class SayReady(NamedTuple):
    """Say whether Snapshots may use a crawl's browser."""

    is_ready: bool


Action = (
    Start | AwaitProgram | Settle | Requeue | KeepEarlier | Stop | OpenAnew | YieldTab | ReacquireTab | BeginStep
    | Enter | SayReady
)  # fmt: skip
"""Something that is to be done now; where its docstring names no other event, Done answers it."""


# --- what has happened -------------------------------------------------------------------------------------------


class Sign(Enum):
    """What happens to a hook, or to the object, of which there is no more to tell."""

    READY = "a hook is ready"
    LATE = "the ready time of a hook is over"
    WAITING = "a hook waits for somebody else's server, and takes nothing of the machine meanwhile"
    EXITED = "the process of a hook has exited; its output is still to be read"
    PLACE_FREE = "there may be a slot, a tab or a resource of the machine again"
    TAKEN_OVER = "all that ran when the object was claimed was told of by Started"
    LEAVING = "the object is given back: from here on nothing of it starts"
    PREEMPTED = "another crawl waits for this one"
    PAGE_SEALED = "a page of the crawl was sealed"
    PROXY_DIED = "what the live page was receiving broke off, and nobody asks for it again"


class Happened(NamedTuple):
    """A sign, of a hook or of the object."""

    sign: Sign
    item: Planned | None = None


class Done(NamedTuple):
    """An action was done."""

    action: Action
    at: datetime | None = None


class NotDone(NamedTuple):
    """It could not be done, for which the whole object is put aside."""

    action: Action


class Started(NamedTuple):
    """A process of it runs; with ``unwatched``: it ended while no worker had it, and is judged by what it left."""

    item: Planned
    at: datetime | None
    is_ready: bool = False
    unwatched: bool = False
    ended_at: datetime | None = None


class NotStarted(NamedTuple):
    """It has to wait."""

    item: Planned
    waiting_for: WaitingFor


class Settled(NamedTuple):
    """The outcome of a hook is on record. ``http_status``: of the page, where its result alone tells it."""

    action: Settle
    status: str
    attempts: int = 0
    reason: str = ""
    retry_at: datetime | None = None
    http_status: int = 0


class Ended(NamedTuple):
    """A run is over, and its output read to the end. ``now``: loop time.

    ``after``: seconds for which a server wants to be left alone. ``in_vain``: trying again is, by the hook's own word.
    """

    item: Planned
    end: EndedRun
    at: datetime | None = None
    now: float = 0.0
    after: int = 0
    in_vain: bool = False


class ProgramsKnown(NamedTuple):
    """The worker has looked at its database: what has become of each program, by name."""

    programs: dict[str, str]


class Learned(NamedTuple):
    """A hook has told what the page is."""

    facts: PageFacts


class Linked(NamedTuple):
    """Files of these plugins are now those of the version before."""

    plugins: frozenset[str]


class ProgramAsked(NamedTuple):
    """A hook of a crawl has asked for a program."""

    item: Planned
    request: BinaryRequest


Event = (
    Happened | Done | NotDone | Started | NotStarted | Settled | Ended | ProgramsKnown | Learned | Linked | ProgramAsked
)  # fmt: skip
