"""Owns what becomes of a page in whose place something else is shown: a busy server, a check of visitors, a log-in."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

from django.utils import timezone

from archivebox.contract.applies import PageFacts
from archivebox.contract.failures import NOT_THE_PAGE
from archivebox.contract.outcomes import Outcome, Status
from archivebox.contract.reasons import Reason, split
from archivebox.contract.records import Record
from archivebox.core.archiveresult import back_off
from archivebox.core.snapshot import Snapshot
from archivebox.lib.files import remove_tree
from archivebox.workers.execute.steps.schedule import Planned

if TYPE_CHECKING:
    from archivebox.workers.execute.page.executor import SnapshotExecutor
    from archivebox.workers.execute.page.results import PageResults

log = logging.getLogger(__name__)

OF_THE_PAGE = frozenset({"title", "tags", "quality"})
"""What only the page itself may say of its Snapshot."""
CAME = frozenset({"succeeded", "noresults"})
"""Results of a navigation that found the page; those of hooks that say nothing are without results."""


class RefusedPage:
    """A navigation tells of it, and the rest of the Snapshot follows.

    While it is to be tried again, nothing else is asked of the site: all that waits for the page waits for the same
    moment, and the page is sealed until then, without its tab. When it is not, what is shown is kept as evidence. Once
    the page itself comes, that is made anew. A page that was had before stays as it is.
    """

    def __init__(self, executor: "SnapshotExecutor", results: "PageResults") -> None:
        self._executor, self._results = executor, results
        self._schedule = executor.schedule
        self._snapshot = executor.snapshot
        self._facts = self._snapshot.facts
        if any(item.is_queued and was_refused(item) for item in self._schedule.navigations):
            self._tell(PageFacts())  # what was known is of what was shown instead

    @property
    def is_kept(self) -> bool:
        """Whether what is kept now is what is shown in place of the page."""
        return any(item.status == "failed" and was_refused(item) for item in self._schedule.navigations)

    def is_had_already(self, item: Planned, result: Outcome) -> bool:
        """Whether the page itself was kept before, and only what is still missing of it wanted this visit."""
        is_had = item.final_status in CAME and not any(map(was_refused, self._schedule.navigations))
        return is_had and (result.reason in NOT_THE_PAGE or self._snapshot.facts.nothing_came)

    def keep_earlier(self, item: Planned) -> None:
        """Leave what is on record of the page; what is missing is tried again, as often as other failures are."""
        item.status = item.final_status
        self._tell(self._facts)
        journal = self._executor.engine.journal
        journal.effect(partial(write_facts, self._snapshot.pk, self._facts), self._executor.lease)
        declared = item.run.output.declared if item.run is not None else None
        after = timedelta(seconds=declared.after) if declared is not None and declared.after else back_off(1)
        self._put_off(item, {"retry_at": timezone.now() + after}, counts=True)

    def follow(self, item: Planned, earlier: str) -> None:
        """Do what the result of a navigation means for the rest; ``earlier``: the reason that it had before."""
        if item not in self._schedule.navigations:
            return
        if item.status == "backoff" and was_refused(item):
            self._put_off(item, {"retry_at": item.retry_at}, counts=False)
        elif item.status in CAME:
            self._facts = self._snapshot.facts
            if split(earlier)[0] in NOT_THE_PAGE:
                self._make_anew(item)

    def without_claims(self, records: Sequence[Record]) -> list[Record]:
        """Records of what is no page: it has no links to follow, and says nothing of the page's title or quality."""
        if not self.is_kept:
            return list(records)
        kept = (record for record in records if record.type not in {"Snapshot", "Tag"} or record.fields.get("id"))
        return [_without_claims(record) if record.type == "Snapshot" else record for record in kept]

    def _put_off(self, navigation: Planned, moment: dict[str, object], *, counts: bool) -> None:
        """Have all that was to come after it wait for the same moment; what is made of files is made."""
        result = Outcome(Status.FAILED, Reason.NOTHING_CAME, retry=True, counts=counts)
        for item in self._schedule.planned:
            if not item.is_queued or item is navigation or _needs_no_page(item):
                continue
            if item.replay:
                item.status, item.replay = item.final_status, False
                continue
            is_last = counts and item.attempts + 1 >= self._executor.steps.max_attempts
            self._results.settle(item, result, extra=None if is_last else moment)

    def _make_anew(self, navigation: Planned) -> None:
        """Run again what was made of that which was shown before, in folders without it."""
        for item in self._schedule.planned:
            if item.hook.session or item.is_queued or item.is_running or not _is_of_page(item, navigation):
                continue
            if not item.hook.derived:
                self._remove_files(item)
            self._results.back_to_queue(item, "")

    def _remove_files(self, item: Planned) -> None:
        try:
            remove_tree(self._executor.steps.call.object_dir / item.hook.plugin)
        except OSError as error:  # whoever writes there next says so
            log.warning("Not deleted: %s action=evidence_left snapshot=%s", error, self._snapshot.pk)

    def _tell(self, facts: PageFacts) -> None:
        self._snapshot.final_url, self._snapshot.http_status, self._snapshot.mime_type = (
            facts.final_url, facts.http_status, facts.mime_type,
        )  # fmt: skip


def write_facts(snapshot_id: UUID, facts: PageFacts) -> None:
    """Say again what the page is: an effect, since what the refusal told is one that stands before it."""
    Snapshot.objects.filter(pk=snapshot_id).update(
        final_url=facts.final_url, http_status=facts.http_status, mime_type=facts.mime_type
    )


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


def _without_claims(record: Record) -> Record:
    fields = {name: value for name, value in record.fields.items() if name not in OF_THE_PAGE}
    return replace(record, fields=fields)
