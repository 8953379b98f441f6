"""A page from step 0 to its seal, as its worker knows it: the rules of its life, in one place, without effects.

What every object with hooks has in common is in :mod:`hook_plan`; here is what a page adds: what its hooks wait for,
what becomes of a run that has ended, the live page and how it is opened anew, a page in whose place something else
came, and what follows the last step. ``page_run`` does what this says.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from archivebox.contract.applies import PageFacts
from archivebox.contract.binaries import BinaryRequest
from archivebox.contract.failures import NOT_THE_PAGE
from archivebox.contract.hook import TAB, Hook
from archivebox.contract.hooknames import LAST_STEP
from archivebox.contract.outcomes import (
    CUT_OFF,
    FINAL_STATUSES,
    OF_THE_ADDRESS,
    PAGE_LOST,
    Outcome,
    Status,
    failure,
    outcome,
)
from archivebox.contract.reasons import Reason, split
from archivebox.workers.execute.hook_plan import HookPlan
from archivebox.workers.execute.plan_events import (
    PAGE_FOUND,
    Action,
    Done,
    Ended,
    Enter,
    Event,
    Happened,
    KeepEarlier,
    Learned,
    Linked,
    OpenAnew,
    Phase,
    Planned,
    ReacquireTab,
    Requeue,
    Settle,
    Settled,
    Sign,
    Start,
    Started,
    Stop,
    WaitingFor,
    YieldTab,
)

BROKE = frozenset({Reason.CRASHED, Reason.SIGNALLED, Reason.FOLDER_UNUSABLE})
"""Why a navigation failed that says nothing of the page: it may not have begun."""
MOST_SESSIONS = 3
"""How often the live page of one Snapshot is opened again within one lease before its hooks are told there is none."""
WINDING_DOWN = frozenset({Phase.STEPS, Phase.STOPPING, Phase.CLOSING_PAGE, Phase.FINISHING})


class PagePlan(HookPlan):
    """The plan of one Snapshot. ``end_hooks``: those of its end, which have no results."""

    def __init__(
        self,
        planned: Iterable[Planned],
        facts: PageFacts,
        *,
        reason_to_skip: Callable[[Hook], str | None],
        reason_against: Callable[[Hook, PageFacts], str | None],
        needed: Callable[[Hook], Iterable[BinaryRequest]],
        max_attempts: int,
        end_hooks: Sequence[Planned] = (),
        makes_evidence: Callable[[Hook], bool] = lambda _: False,
        may_link: bool = False,
    ) -> None:
        super().__init__(planned, reason_to_skip=reason_to_skip, needed=needed)
        self.facts, self._known_before = facts, facts
        self._reason_against, self._max_attempts = reason_against, max_attempts
        self._gates = [item for item in self.planned if item.hook.gate]
        self.sessions = [item for item in self.planned if item.hook.session]
        self.holders = [item for item in self.sessions if item.hook.opens_page]
        self._users = [item for item in self.planned if item.hook.page or item.hook.session]
        self._listeners = [item for item in self.planned if item.may_use_page] if self.holders else []
        self.times_opened = 0
        self.is_lost = False
        """Whether the page has to be opened anew: it is gone, or the hook that held or recorded it is."""
        self.is_gone = False
        """Whether who held it said that it went away permanently."""
        self._opened_at: datetime | None = None
        """When it was opened anew; None: never in this worker's hands."""
        self._refused_visit: tuple[Planned, datetime | None, bool] | None = None
        """The navigation that found something else than the page, when it is tried again, and whether what waits for
        that has spent one of its attempts.
        """
        self._yielded_for: Planned | None = None
        """The hook that waits for a server, for which the page stands aside."""
        self.phase = Phase.STEPS
        self.end_hooks = list(end_hooks)
        self.linked: frozenset[str] = frozenset()
        self._makes_evidence, self._may_link = makes_evidence, may_link
        self._outdated: set[Planned] = set()
        """What is derived and ran, or still runs, on results that have become others."""
        if any(item.is_queued and was_refused(item) for item in self.navigations):
            self.facts = PageFacts()  # what was known is of what was shown instead

    # --- what a hook whose turn it is waits for: only reads ---------------------------------------------------

    def _turn_of(self, item: Planned, now: float) -> Action | None:
        """A condition on type or status is judged once the navigations before it are over; they tell both."""
        if not all(navigation.is_settled for navigation in self._navigations_for(item)):
            return None
        return super()._turn_of(item, now)

    def _navigations_for(self, item: Planned) -> list[Planned]:
        """Those that are still to tell whether a hook applies.

        What is in the background and ends by itself holds up no step, so it waits for the first of them in any case.
        """
        if not item.hook.applies.needs_facts or self.facts.are_known:
            return []
        before = [one for one in self.navigations if one.hook.sort_key < item.hook.sort_key]
        return before + self.first_navigations * (item.hook.background and item.hook.finite)

    def _pointless(self, item: Planned) -> str | None:
        if (reason := super()._pointless(item)) is not None or item.replay:
            return reason
        before = (gate for gate in self._gates if gate.hook.sort_key < item.hook.sort_key)
        if failed := next((gate for gate in before if gate.status in {"failed", "backoff"}), None):
            return Reason.KEPT_OUT.of(failed.hook.plugin)
        if item.hook.page and not item.hook.session and self._nobody_answered():
            return Reason.NOTHING_CAME.value
        return self._reason_against(item.hook, self.facts)

    def _nobody_answered(self) -> bool:
        """Whether the navigations that were to load the page have told that nothing came from its address.

        One that failed for another reason, as its tab died, runs again with the hooks that need the page.
        """
        of_address = OF_THE_ADDRESS | {Reason.DECLARED}
        told = (one.is_settled and split(one.reason)[0] in of_address for one in self.first_navigations)
        return self.facts.nothing_came and all(told)

    def _start(self, item: Planned, missing: str = "") -> Action | None:
        """A hook that needs the live page waits until there is one again; session hooks are run anew for it."""
        put_off = next((one for one in self._navigations_for(item) if one.status == "backoff"), None)
        if put_off is not None:  # it would have told if the hook applies, and is tried again: so is the hook
            result = Outcome(Status.FAILED, Reason.NOTHING_CAME, retry=True, counts=False)
            return Settle(item, result, retry_at=put_off.retry_at)
        if item.hook.page and self._yielded_for is not None and not self._yielded_for.is_running:
            return ReacquireTab(item)
        if item.is_page_bound and self.wants_tab:
            return None
        if (item.hook.page or item.hook.session) and not self._has_page(item):
            return self._without_page(item)
        return super()._start(item, missing)

    def _has_page(self, item: Planned) -> bool:
        """Whether a hook need not wait until the page is opened anew; what opens it waits only for what is left."""
        if item.hook.page and not item.hook.session and self._is_blank:
            return False
        return not self.is_lost if item.hook.opens_page else self.lives

    def _without_page(self, item: Planned) -> Action | None:
        if self.is_gone:
            return Settle(item, failure(Reason.PAGE_GONE))
        if self.times_opened >= MOST_SESSIONS:
            return Settle(item, failure(Reason.NO_SESSION))
        remains = [one for one in self.sessions if one.is_running]
        if not remains:
            return OpenAnew()
        untold = [one for one in remains if not one.is_stopping]
        return Stop(untold, loses_page=True) if untold else None  # the end of the last of them leads here again

    # --- the live page: only reads ----------------------------------------------------------------------------

    @property
    def lives(self) -> bool:
        """Whether who holds it does, or is about to; one that has exited does not, though it may not have ended yet.

        The core knows no browser: the page is there while each session hook runs that declares readiness.
        """
        return not self.is_lost and all(
            item.is_queued or item.status == "skipped" or (item.is_running and not item.has_exited)
            for item in self.holders
        )

    @property
    def _is_blank(self) -> bool:
        """Whether its navigation broke, so that what the tab shows is nobody's page."""
        return any(item.status == "backoff" and split(item.reason)[0] in BROKE for item in self.navigations)

    @property
    def wants_tab(self) -> bool:
        """Whether a tab will be opened, but is not yet."""
        return any(item.is_queued for item in self.holders)

    @property
    def _is_open(self) -> bool:
        """Whether a tab is held, loaded or not."""
        return any(item.is_running for item in self.holders)

    def _may_be_closed(self) -> bool:
        """Whether it is open, and no hook needs it any more; what listens to it has to be told.

        Of hooks that nothing describes nobody knows whether they need it: where one of these opened it, it stays.
        """
        if any(
            item.is_queued or not (item.is_settled or item.runs_until_stopped or item.released_page)
            for item in self._users
        ):
            return False
        if any(item.is_running for item in self._listeners):
            return False
        return self._is_open and all(item.is_ready and item.hook.described for item in self.holders)

    def next_actions(self, now: float) -> list[Action]:
        """The tab is given back as soon as nothing more needs it: first what listens to it is told, then its holder."""
        actions = super().next_actions(now)
        if actions or self.is_leaving or not self._may_be_closed():
            return actions
        running = [item for item in self._users if item.is_running and item.runs_until_stopped]
        closing = [item for item in running if item.hook.page] or [item for item in running if item.hook.session]
        return _stop(closing, frees_tab=True)

    # --- what follows the last step: only reads ---------------------------------------------------------------

    def _after_steps(self) -> list[Action]:
        """TERM to all background hooks at once; the page last; then what is derived; then the seal."""
        if self.phase in WINDING_DOWN:
            return self._wind_down()
        if self.phase is Phase.DERIVING and all(item.is_settled for item in self.planned if item.hook.derived):
            return [Enter(Phase.LINKING if self._may_link else Phase.ENDING)]
        if self.phase is Phase.ENDING:
            if all(item.is_settled for item in self.end_hooks):
                return [Enter(Phase.SEALING)]
            return [Start(item, at_end=True) for item in self.end_hooks if item.is_queued]
        return []

    def _wind_down(self) -> list[Action]:
        """From the beginning each time: what was told to stop may have been started again, with its page or alone."""
        for phase, is_session in ((Phase.STOPPING, False), (Phase.CLOSING_PAGE, True)):
            running = (item for item in self.planned if item.is_running and item.runs_until_stopped)
            if kind := [item for item in running if item.hook.session == is_session]:
                return _stop(kind) + self._enter(phase)
        if any(item.hook.finite and (item.is_queued or item.is_running) for item in self.planned):
            return self._enter(Phase.FINISHING)
        return [Enter(Phase.DERIVING)]

    def _enter(self, phase: Phase) -> list[Action]:
        return [] if self.phase is phase else [Enter(phase)]

    # --- what others ask: only reads --------------------------------------------------------------------------

    @property
    def is_refused(self) -> bool:
        """Whether what is kept now is what is shown in place of the page."""
        return any(item.status == "failed" and was_refused(item) for item in self.navigations)

    @property
    def shows_refusal(self) -> bool:
        """Whether its files are those of something else than the page."""
        return any(item.is_settled and was_refused(item) for item in self.navigations)

    @property
    def is_in_step(self) -> bool:
        """Whether it may still need the crawl's browser."""
        return self.phase in {Phase.STEPS, Phase.STOPPING, Phase.CLOSING_PAGE}

    def is_idle_for(self, what: WaitingFor) -> bool:
        """Whether nothing of it runs, and a hook whose turn it is waits for this."""
        if self.phase is not Phase.STEPS or not self.runs_nothing:
            return False
        return any(item.is_queued and item.waiting_for is what for item in self.planned)

    def reason_kept(self, item: Planned, reason: str) -> str:
        """The reason of a result that is open again: that of a refusal stays until its navigation found the page."""
        return item.reason if was_refused(item) and item.hook.session else reason

    # --- what has happened: the only place where the state changes ----------------------------------------------

    def apply(self, event: Event) -> None:
        """Take note of what has happened, and decide what follows from it."""
        if isinstance(event, Started) and event.item.status in FINAL_STATUSES:
            event.item.replay, event.item.final_status = True, event.item.status  # taken over as it was replayed
        earlier = event.action.item.reason if isinstance(event, Settled) else ""
        super().apply(event)
        match event:
            case Ended():
                self._judge(event)
            case Settled():
                self._follow(event, earlier)
            case Done(Requeue(item=item)):
                item.status, item.has_run = "queued", False
                self._put_off([item])
                self._was_judged(item)
            case Done(KeepEarlier(item=item), at=retry_at):
                item.status, self.facts = item.final_status, self._known_before
                self._refused_visit = (item, retry_at, True)
                self._put_off(self.planned)
                self._was_judged(item)
            case Happened(Sign.TAKEN_OVER):
                self.step = min((item.hook.step for item in self.planned if not item.is_settled), default=LAST_STEP)
                self._mark_lost_if_incomplete()
            case Done(Stop(loses_page=True)):
                self.is_lost = True
            case Done(OpenAnew(), at=at):
                self._open_anew(self._in_order(at))
            case Happened(Sign.WAITING, Planned() as item) if TAB in item.holds:
                self.decided.append(YieldTab(item))
            case Done(YieldTab(item=item)):
                self._yielded_for = item
            case Done(ReacquireTab()):
                self._yielded_for = None
            case Learned(facts=facts):
                if self.facts.nothing_came and facts.are_known:  # who applies is judged anew
                    self._requeue_skipped(Reason.NOTHING_CAME)
                self.facts = facts
            case Happened(Sign.PROXY_DIED) if self._is_open and self.times_opened < MOST_SESSIONS:
                self.is_lost = True
            case Done(Enter(phase=phase)):
                self._has_entered(phase)
            case Linked(plugins=plugins):
                self._has_linked(plugins)

    # --- a run has ended --------------------------------------------------------------------------------------

    def _judge(self, event: Ended) -> None:
        """Decide what becomes of the result of a run, with regard to the page that it worked on."""
        item = event.item
        result = self._with_regard_to_page(event)
        replayed, item.replay = item.replay, False
        if item.result_id is None or (replayed and self.is_leaving):
            item.status = item.final_status or "succeeded"
            self._was_judged(item)
        elif replayed and self._is_had_already(item, result):
            self.decided.append(KeepEarlier(item, self._known_before, event.after))
        elif result.status is Status.QUEUED:
            if was_cut_off := result == CUT_OFF:
                item.hook = replace(item.hook, finite=True)
            self.decided.append(Requeue(item, result.code, was_cut_off))
        else:
            self.decided.append(Settle(item, result, of_run=True))
        if event.in_vain and item.hook.opens_page and item.hook.described:
            self.is_gone = True  # what listened to it is not tried again for that either
            self.decided += [Settle(one, failure(Reason.PAGE_GONE)) for one in self.sessions if one.status == "backoff"]

    def _with_regard_to_page(self, event: Ended) -> Outcome:
        """Who held, recorded or used the page when it died, or died itself at that, runs again on a new one."""
        item, result = event.item, outcome(event.end)
        if item.hook.session:
            if self.is_gone and result.retry:
                return failure(Reason.PAGE_GONE)
            if result.reason is Reason.SIGNALLED and self.times_opened < MOST_SESSIONS:
                result = PAGE_LOST
            is_lost = result.status is Status.QUEUED and not item.is_unjudged
        elif is_lost := self._lost_its_page(event, result):
            result = PAGE_LOST
        began_before = self._opened_at is not None and item.started_at is not None and item.started_at < self._opened_at
        self.is_lost |= is_lost and not began_before
        return result

    def _lost_its_page(self, event: Ended, result: Outcome) -> bool:
        """Whether it failed for want of the page, by its own word or because nobody holds it any more."""
        if result == PAGE_LOST or not event.item.hook.page:
            return result == PAGE_LOST
        if event.item.released_page and event.end.declared is None:
            return False  # it broke over what it had taken from there
        return result.status is Status.FAILED and result.retry and not self.lives

    def _follow(self, event: Settled, earlier: str) -> None:
        """Do what a result means for the rest of the page; ``earlier``: the reason that it had before."""
        item = event.action.item
        if item.hook.gate and item.status in PAGE_FOUND:
            self._requeue_skipped(Reason.KEPT_OUT.of(item.hook.plugin))
        if event.http_status and not self.facts.are_known:
            self.facts = replace(self.facts, http_status=event.http_status)
        if event.action.of_run and item.hook.is_navigation:
            if item.status == "backoff" and was_refused(item):
                self._refused_visit = (item, item.retry_at, False)
                self._put_off(self.planned)
            elif item.status in PAGE_FOUND:
                self._known_before, self._refused_visit = self.facts, None
                if split(earlier)[0] in NOT_THE_PAGE:
                    self._make_page_anew(item)
        self._was_judged(item)
        if self.phase is Phase.DERIVING:
            self._find_outdated()

    def _was_judged(self, item: Planned) -> None:
        """What an earlier worker left is judged first; then a page of which only a part is left is opened anew."""
        if item.is_unjudged:
            item.is_unjudged = False
            if not any(one.is_unjudged for one in self.planned):
                self._mark_lost_if_incomplete()

    def _requeue_skipped(self, reason: str) -> None:
        """Queue the hooks again that were skipped for a reason that holds no longer."""
        skipped = [item for item in self.planned if item.status == "skipped" and item.reason == reason]
        self.decided += [Requeue(item) for item in skipped]

    # --- the live page ----------------------------------------------------------------------------------------

    def _mark_lost_if_incomplete(self) -> None:
        """Session hooks run together or not at all: none is added to a page that was opened or loaded without it.

        Nor is one of a page that was open before: a worker may have died after it had opened the page anew.
        """
        opens = any(item.is_queued for item in self.holders)
        listens = any(item.is_queued and item.hook.background for item in self.sessions)
        begun = [item for item in self.sessions if not item.is_queued and item.status != "skipped"]
        self.is_lost |= (opens and bool(begun)) or (listens and any(not one.hook.background for one in begun))
        opened = max((one.started_at for one in self.holders if one.is_running and one.started_at), default=None)
        self.is_lost |= opened is not None and any(one.started_at and one.started_at < opened for one in begun)

    def _open_anew(self, at: datetime | None) -> None:
        """Run all session hooks anew; what they come to this time is their result, and the only one that counts."""
        self.times_opened += 1
        self.is_lost, self._opened_at, self._refused_visit = False, at, None
        for item in self.sessions:
            if item.status in {"skipped", "queued"} or item.is_running:
                continue
            item.attempts = max(0, item.attempts - 1)
            item.final_status, item.replay = item.status, item.status in FINAL_STATUSES
            item.status, item.has_run, item.is_late = "queued", False, False
        self.step = min((item.hook.step for item in self.sessions), default=self.step)

    # --- a page in whose place something else came: a busy server, a check of visitors, a log-in ----------------
    # While its navigation is to be tried again, nothing else is asked of the site: all that waits for the page waits
    # for the same moment. When it is not, what is shown is kept as evidence. Once the page itself comes, that is made
    # anew. A page that was had before stays as it is.

    def _is_had_already(self, item: Planned, result: Outcome) -> bool:
        """Whether the page itself was kept before, and only what is still missing of it wanted this visit."""
        is_had = item.final_status in PAGE_FOUND and not any(map(was_refused, self.navigations))
        return item.hook.is_navigation and is_had and (result.reason in NOT_THE_PAGE or self.facts.nothing_came)

    def _put_off(self, items: Iterable[Planned]) -> None:
        """Have what needs the page wait for the next try of its navigation; what is made of files is made now."""
        if self._refused_visit is None:
            return
        navigation, retry_at, counts = self._refused_visit
        result = Outcome(Status.FAILED, Reason.NOTHING_CAME, retry=True, counts=counts)
        for item in items:
            if not item.is_queued or item is navigation or _needs_no_page(item):
                continue
            if item.replay:
                item.status, item.replay = item.final_status, False
                continue
            is_last = counts and item.attempts + 1 >= self._max_attempts
            self.decided.append(Settle(item, result, retry_at=None if is_last else retry_at))

    def _make_page_anew(self, navigation: Planned) -> None:
        """Run again what was made of that which was shown before, in folders without it."""
        for item in self.planned:
            was_put_off = item.status == "backoff" and split(item.reason)[0] is Reason.NOTHING_CAME
            is_over = not (item.is_queued or item.is_running) and (was_put_off or not item.hook.session)
            if is_over and _is_of_page(item, navigation):
                self.decided.append(Requeue(item, removes_files=not item.hook.derived))

    # --- what follows the last step -----------------------------------------------------------------------------

    def _has_entered(self, phase: Phase) -> None:
        self.phase = phase
        if phase is Phase.DERIVING:
            self._find_outdated()
        elif phase is Phase.LINKING:
            self._may_link = False

    def _has_linked(self, plugins: frozenset[str]) -> None:
        """Hash and sign anew what was linked."""
        self.phase, self.linked = Phase.DERIVING, plugins
        if plugins:
            hashing = (item for item in self.planned if item.hook.derived and item.status != "skipped")
            self._outdated.update(item for item in hashing if self._makes_evidence(item.hook))
            self._find_outdated()

    def _find_outdated(self) -> None:
        """What is made from other results is made again when one of those became final after it started."""
        for item in self.planned:
            if item.hook.derived and not item.is_queued and item.status != "skipped" and self._changed_since(item):
                self._outdated.add(item)
        for item in [one for one in self._outdated if one.is_settled]:  # what still runs waits for its end
            self._outdated.remove(item)
            item.status, item.has_run = "queued", False

    def _changed_since(self, item: Planned) -> bool:
        key, began = item.hook.sort_key, item.started_at
        sources = [one for one in self.sources_of(item) if not one.hook.derived or one.hook.sort_key < key]
        if began is None or not self._outdated.isdisjoint(sources):  # the latter: derived itself, and made again
            return any(one.has_run or one in self._outdated for one in sources)
        return any(one.ended_at > began for one in sources if one.ended_at is not None)


def _stop(items: Iterable[Planned], *, frees_tab: bool = False) -> list[Action]:
    """Those who have not been told yet, in one action.

    One that says when it is ready is told from then on: before, it may die of TERM, as it has no handler yet.
    """
    untold = [item for item in items if not item.is_stopping and (item.is_ready or not item.hook.ready)]
    return [Stop(untold, frees_tab)] if untold else []


def was_refused(item: Planned) -> bool:
    """Whether a navigation, the last time it ran, found something else than the page."""
    return split(item.reason)[0] in NOT_THE_PAGE


def _needs_no_page(item: Planned) -> bool:
    """Whether it holds or records the page, or is made of files whatever the page is."""
    is_listener = item.hook.session and item.hook.background
    return is_listener or (item.hook.derived and not item.hook.applies.needs_facts)


def _is_of_page(item: Planned, navigation: Planned) -> bool:
    """Whether it ran, or was found not to apply, for what the navigation had led to."""
    if item.status == "skipped" and split(item.reason)[0] not in {Reason.NOT_APPLICABLE, Reason.NOTHING_CAME}:
        return False
    return item.hook.page or item.hook.applies.needs_facts or item.step > navigation.step
