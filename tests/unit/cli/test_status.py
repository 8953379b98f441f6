"""`archivebox status` says what is here and what is not done yet."""

import pytest

from archivebox.base_models.users import system_user
from archivebox.jobs.models import Job
from tests.unit.cli.typed import typed

pytestmark = [pytest.mark.usefixtures("collection"), pytest.mark.database]


def test_jobs_that_are_not_done_are_counted() -> None:
    for kind, status in (("tag", "sealed"), ("import_pages", "paused"), ("export", "started"), ("measure", "queued")):
        Job.objects.create(kind=kind, status=status, created_by=system_user())
    (record,) = typed("status").records
    assert record["jobs"] == {"paused": 1, "started": 1}
