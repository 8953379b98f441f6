"""The live page of one Snapshot: whether its session hooks hold one, and how it is opened again."""

from datetime import datetime

from django.utils import timezone

from archivebox.contract.reasons import Reason, split
from archivebox.core.statemachines import ArchiveResultMachine
from archivebox.workers.execute.capacity.tabs import Tab
from archivebox.workers.execute.steps.schedule import Planned, Schedule

BROKE = frozenset({Reason.CRASHED, Reason.SIGNALLED, Reason.FOLDER_UNUSABLE})
"""Why a navigation failed that says nothing of the page: it may not have begun."""
MOST_SESSIONS = 3
"""How often the live page of one Snapshot is opened again within one lease before its hooks are told there is none."""


class LivePage:
    """The core knows no browser: the page is there while each ready-declaring session hook runs."""

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._sessions = 0
        self._is_lost = False
        self._opened_at: datetime | None = None
        """When it was opened anew; None: never in this worker's hands."""
        self._waits: Planned | None = None
        """The hook that waits for a server, for which it stands aside."""
        self.is_gone = False
        """Whether who held it said that it went away permanently."""
        self._hooks = schedule.session_hooks()
        self._holders = [item for item in self._hooks if item.hook.opens_page]
        self._users = [item for item in schedule.planned if item.hook.page or item.hook.session]
        self._listeners = [item for item in schedule.planned if item.may_use_page] if self._holders else []

    @property
    def lives(self) -> bool:
        """Whether who holds it does, or is about to; one that has exited does not, though it may not have ended yet."""
        return not self._is_lost and all(
            item.is_queued or item.status == "skipped" or (item.is_running and not item.has_exited)
            for item in self._holders
        )

    def is_open_for(self, item: Planned) -> bool:
        """Whether a hook need not wait until the page is opened anew; what opens it waits only for what is left."""
        return not self._is_lost if item.hook.opens_page else self.lives

    @property
    def is_abandoned(self) -> bool:
        """Whether it was opened so often that it is not opened any more."""
        return self._sessions >= MOST_SESSIONS

    @property
    def is_blank(self) -> bool:
        """Whether its navigation broke, so that what the tab shows is nobody's page."""
        navigations = (item for item in self._hooks if item.hook.is_navigation)
        return any(item.status == "backoff" and split(item.reason)[0] in BROKE for item in navigations)

    @property
    def is_wanted(self) -> bool:
        """Whether a tab will be opened, but is not yet."""
        return any(item.is_queued for item in self._holders)

    @property
    def is_open(self) -> bool:
        """Whether a tab is held, loaded or not."""
        return any(item.is_running for item in self._holders)

    @property
    def may_be_closed(self) -> bool:
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
        return self.is_open and all(item.is_ready and item.hook.described for item in self._holders)

    def closing(self) -> list[Planned]:
        """Whom to tell next that the page closes: first what listens to it, then what holds it."""
        running = [item for item in self._users if item.is_running and item.runs_until_stopped]
        listeners = [item for item in running if item.hook.page]
        return listeners or [item for item in running if item.hook.session]

    def yield_tab(self, item: Planned) -> None:
        """The next page has its place while a hook, which alone may use it, waits for a server."""
        self._waits = item
        for tab in self._tabs():
            tab.yield_tab()

    def reacquire(self) -> list[Tab] | None:
        """The tabs that have a place again once that hook has ended; None while there is none for one of them."""
        if self._waits is None or self._waits.is_running:
            return []
        aside = [tab for tab in self._tabs() if tab.is_aside]
        if not all(tab.reacquire() for tab in aside):
            return None
        self._waits = None
        return aside

    def _tabs(self) -> list[Tab]:
        return [item.slot for item in self._holders if isinstance(item.slot, Tab)]

    def mark_lost(self) -> None:
        """Have it opened anew: it is gone, or the hook that held or recorded it is."""
        self._is_lost = True

    def mark_lost_by(self, item: Planned) -> None:
        """The same because of what a hook came to, unless that began before the page was last opened anew."""
        started_at = item.run.row.started_at if item.run is not None else None
        if self._opened_at is None or started_at is None or started_at >= self._opened_at:
            self.mark_lost()

    def remains(self) -> list[Planned]:
        """What of a lost one still runs, and has to end before it can be opened anew."""
        return [item for item in self._hooks if item.is_running]

    def mark_lost_if_incomplete(self) -> None:
        """Session hooks run together or not at all: none is added to a page that was opened or loaded without it."""
        opens = any(item.is_queued for item in self._holders)
        listens = any(item.is_queued and item.hook.background for item in self._hooks)
        begun = [item for item in self._hooks if not item.is_queued and item.status != "skipped"]
        if (opens and begun) or (listens and any(not item.hook.background for item in begun)):
            self.mark_lost()

    def reopen(self) -> None:
        """Run all session hooks anew; what they come to this time is their result, and the only one that counts."""
        self._sessions += 1
        self._is_lost = False
        self._opened_at = timezone.now()
        for item in self._hooks:
            if item.status in {"skipped", "queued"} or item.is_running:
                continue
            item.attempts = max(0, item.attempts - 1)
            item.final_status, item.replay = item.status, item.status in ArchiveResultMachine.FINAL
            item.status, item.run, item.late = "queued", None, False
        self._schedule.step = min((item.hook.step for item in self._hooks), default=self._schedule.step)
