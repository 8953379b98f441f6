from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from django.db import OperationalError

from archivebox.core.models import Snapshot
from archivebox.workers.execute import snapshot_rows
from tests.factories import leased, snapshot

pytestmark = [pytest.mark.usefixtures("collection"), pytest.mark.database]


@pytest.mark.parametrize(
    ("end", "status"), [(snapshot_rows.seal, "sealed"), (partial(snapshot_rows.put_down, event="release"), "queued")]
)
def test_an_end_that_the_database_did_not_take_is_written_by_the_next_try(
    end: Callable[[Snapshot], object], status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk is said at the commit, when the transition was made already: the object knew it as done."""
    page = leased(snapshot())
    page.transition("start")
    failures = [OperationalError("database or disk is full")]

    def fail_once() -> None:
        if failures:
            raise failures.pop()

    monkeypatch.setattr(snapshot_rows, "notify_workers", fail_once)
    with pytest.raises(OperationalError):
        end(page)
    end(page)
    after = Snapshot.objects.get(pk=page.pk)
    assert (after.status, after.owner) == (status, None)
