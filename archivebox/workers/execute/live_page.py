"""The live page of one Snapshot: whether its session hooks hold one, and how it is opened again."""

from archivebox.core.statemachines import ArchiveResultMachine
from archivebox.workers.execute.schedule import OUTPUT_STEP, Planned, Schedule

MOST_SESSIONS = 3
"""How often the live page of one Snapshot is opened again within one lease before its hooks are told there is none."""


class LivePage:
    """The core knows no browser: the page is there while each ready-declaring session hook runs."""

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._sessions = 0

    @property
    def lives(self) -> bool:
        return all(item.is_running or item.is_queued or item.status == "skipped" for item in self._holders())

    @property
    def is_given_up(self) -> bool:
        """Whether it was opened so often that it will not come to life any more."""
        return self._sessions >= MOST_SESSIONS

    @property
    def is_wanted(self) -> bool:
        """Whether a tab will be opened, but is not yet."""
        return any(item.is_queued for item in self._holders())

    @property
    def is_done_with(self) -> bool:
        """Whether it is open, and every hook that needs it has ended; what listens to it has to be told."""
        users = (item for item in self._schedule.planned if item.hook.page or item.hook.session)
        if any(item.is_queued or not (item.is_settled or item.is_endless) for item in users):
            return False
        if any(map(self._may_listen, self._schedule.running())):
            return False
        return all(item.is_ready for item in self._holders())

    def _may_listen(self, item: Planned) -> bool:
        """Whether a background hook beside the page does not say if it needs it: then it is taken to, until its end."""
        declared = item.hook.page or item.hook.session
        return item.is_endless and not declared and item.step <= OUTPUT_STEP

    def closing(self) -> list[Planned]:
        """Whom to tell next that the page closes: first what listens to it, then what holds it."""
        running = [item for item in self._schedule.running() if item.is_endless]
        listeners = [item for item in running if item.hook.page and not item.hook.session]
        return listeners or [item for item in running if item.hook.session]

    def complete(self) -> None:
        """Open it anew where only a part of it would be: session hooks run together or not at all."""
        opens = any(item.is_queued for item in self._holders())
        if opens and any(item.is_settled and item.status != "skipped" for item in self._schedule.session_hooks()):
            self.open_again()

    def open_again(self) -> None:
        """Run all session hooks anew; results that are final stay as they are."""
        self._sessions += 1
        hooks = self._schedule.session_hooks()
        for item in hooks:
            if item.status in {"skipped", "queued"} or item.is_running:
                continue
            item.settled_as, item.replay = item.status, item.status in ArchiveResultMachine.FINAL
            item.status, item.run, item.late = "queued", None, False
        self._schedule.step = min((item.hook.step for item in hooks), default=self._schedule.step)

    def _holders(self) -> list[Planned]:
        return [item for item in self._schedule.session_hooks() if item.opens_page]
