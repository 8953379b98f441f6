"""Every line of every table of transitions on real rows, and every line that is not there."""

import itertools
from collections.abc import Callable

import pytest
from django.utils import timezone

from archivebox.base_models.transitions import TransitionRefusedError
from archivebox.base_models.work import WorkItem, WorkMachine
from archivebox.contract.binaries import BinaryRequest
from archivebox.core.models import ArchiveResult
from archivebox.core.statemachines import ArchiveResultMachine, SnapshotMachine
from archivebox.crawls.models import CrawlRun
from archivebox.crawls.statemachines import CrawlMachine, CrawlRunMachine
from archivebox.machine.models import Binary, Machine
from archivebox.machine.statemachines import BinaryMachine
from tests.factories import crawl, row, snapshot
from tests.status_triggers import arrange

pytestmark = pytest.mark.usefixtures("collection")

TABLES: dict[str, tuple[type[WorkMachine], Callable[[], WorkItem], dict[str, dict[str, str]]]] = {
    "crawl": (
        CrawlMachine,
        crawl,
        {
            "queued": {"start": "started", "pause": "paused", "cancel": "cancelled"},
            "started": {"seal": "sealed", "pause": "paused", "cancel": "cancelled"},
            "sealed": {"reopen": "started"},
            "paused": {"resume": "queued", "cancel": "cancelled"},
            "cancelled": {"resume": "queued"},
        },
    ),
    "crawl run": (
        CrawlRunMachine,
        lambda: CrawlRun.of(crawl().pk, Machine.current().pk),
        {
            "queued": {"start": "started", "seal": "sealed"},
            "started": {"seal": "sealed", "requeue": "queued"},
            "sealed": {"requeue": "queued"},
        },
    ),
    "snapshot": (
        SnapshotMachine,
        snapshot,
        {
            "queued": {"start": "started", "pause": "paused", "cancel": "cancelled"},
            "started": {"seal": "sealed", "release": "queued", "pause": "paused", "cancel": "cancelled"},
            "sealed": {"reopen": "queued"},
            "paused": {"resume": "queued", "cancel": "cancelled"},
            "cancelled": {"reopen": "queued"},
        },
    ),
    "binary": (
        BinaryMachine,
        lambda: Binary.want(BinaryRequest("curl")),
        {
            "queued": {"start": "started"},
            "started": {"start": "started", "succeed": "succeeded", "fail": "failed", "requeue": "queued"},
            "succeeded": {"requeue": "queued"},
            "failed": {"requeue": "queued"},
        },
    ),
}
EVENTS = {kind: {name for events in table.values() for name in events} for kind, (_, _, table) in TABLES.items()}
WANTS_NOTHING = {"sealed", "paused", "succeeded", "failed"}
"""Statuses whose ``retry_at`` is NULL once the holder has let go, unless a retry is planned."""


def lines() -> list[tuple[str, str, str]]:
    return [
        (kind, state, event)
        for kind, (_, _, table) in TABLES.items()
        for state, event in itertools.product(table, sorted(EVENTS[kind]))
    ]


@pytest.mark.parametrize(("kind", "state", "event"), lines())
def test_every_line(kind: str, state: str, event: str) -> None:
    _, make, table = TABLES[kind]
    item = make()
    holder = row(process_type="worker").pk
    rows = type(item).rows(pk=item.pk)
    arrange(rows, status=state, owner=holder, retry_at=timezone.now())
    item.refresh_from_db()
    target = table[state].get(event)
    if target is None:
        with pytest.raises(TransitionRefusedError):
            item.transition(event)
        assert rows.get().status == state
        return
    extra = {"retry_at": None} if event == "seal" and kind in {"crawl", "snapshot"} else {}
    item.transition(event, **extra, **({"owner": None} if extra else {}))
    after = rows.get()
    assert (after.status, item.status, after.request) == (target, target, "")
    if target in WANTS_NOTHING:
        assert (after.owner, after.retry_at) == (None, None)
    elif after.owner is None and target == "queued":
        assert after.retry_at is not None
        assert after.retry_at <= timezone.now()
    elif after.owner is not None:
        assert after.retry_at is not None  # the end of the lease


def test_the_tables_name_every_state() -> None:
    for machine, _, table in TABLES.values():
        assert {state.id for state in machine.states} == set(table)
        assert not any(state.final for state in machine.states)


STATES = [choice.value for choice in ArchiveResult.StatusChoices]
LINES = {
    "start": ({"queued", "backoff"}, "started"),
    "succeed": ({"queued", "started", "backoff"}, "succeeded"),
    "find_nothing": ({"queued", "started", "backoff"}, "noresults"),
    "fail": ({"queued", "started", "backoff"}, "failed"),
    "skip": ({"queued", "started", "backoff"}, "skipped"),
    "back_off": ({"queued", "started"}, "backoff"),
    "requeue": ({"started", "backoff", "failed", "skipped", "noresults", "succeeded"}, "queued"),
}


@pytest.mark.parametrize(("event", "state"), list(itertools.product(LINES, STATES)))
def test_every_line_of_a_result(event: str, state: str) -> None:
    result = ArchiveResult.objects.create(
        snapshot=snapshot(), plugin="x", hook_name="on_Snapshot__10_x.sh", status=state
    )
    rows = ArchiveResult.objects.filter(pk=result.pk)
    sources, target = LINES[event]
    moved = rows.transition(event, reason="r")
    assert moved == (state in sources)
    after = rows.get()
    assert (after.status, after.reason) == ((target, "r") if moved else (state, ""))


def test_the_table_of_results_is_whole() -> None:
    assert set(ArchiveResultMachine.transitions()) == set(LINES)
    assert set(STATES) == ArchiveResultMachine.OPEN | ArchiveResultMachine.FINAL | {"backoff"}
    assert set(ArchiveResultMachine.BY_STATUS.values()) <= set(LINES)
