"""Every kind of work is one registry entry, its model, and its executor's module."""

import pytest

from archivebox.base_models.work import work_models
from archivebox.contract.binaries import BinaryRequest
from archivebox.contract.reasons import Reason
from archivebox.crawls.crawl import Crawl
from archivebox.machine.binary import Binary
from archivebox.workers.execute.work_kinds import KIND_OF, WORK_KINDS
from archivebox.workers.queue.lease import Lease
from archivebox.workers.queue.quarantine import end_with_reason
from tests import factories


def test_everything_with_a_lease_is_a_kind_of_work_but_the_crawl_that_is_only_ticked() -> None:
    assert set(work_models()) - {Crawl} == set(KIND_OF)
    assert len(WORK_KINDS) == len(KIND_OF)


@pytest.mark.usefixtures("collection")
def test_a_program_that_is_put_aside_has_failed_and_is_free() -> None:
    worker = factories.row(process_type="worker", status="running").pk
    made = Binary.want(BinaryRequest("odd"))
    fence = Binary.claim([made.pk], worker)[made.pk]
    end_with_reason(Lease(Binary, made.pk, worker, fence), Reason.WORKER_LOST)
    made.refresh_from_db()
    assert (made.status, made.reason, made.owner, made.retry_at) == ("failed", Reason.WORKER_LOST, None, None)
