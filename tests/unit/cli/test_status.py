"""`archivebox status` says what is here and what is not done yet, `doctor` what is wrong with it."""

from datetime import timedelta

import pytest
from django.utils import timezone

from archivebox.base_models.users import system_user
from archivebox.cli.doctor import clock
from archivebox.jobs.models import Job
from tests.factories import row
from tests.unit.cli.typed import typed

pytestmark = [pytest.mark.usefixtures("collection"), pytest.mark.database]


def test_jobs_that_are_not_done_are_counted() -> None:
    for kind, status in (("tag", "sealed"), ("import_pages", "paused"), ("export", "started"), ("measure", "queued")):
        Job.objects.create(kind=kind, status=status, created_by=system_user())
    (record,) = typed("status").records
    assert record["jobs"] == {"paused": 1, "started": 1}


def test_doctor_says_that_a_clock_was_set_back_behind_what_was_recorded() -> None:
    row(started_at=timezone.now())
    assert clock().state == "ok"
    ahead = timezone.now() + timedelta(days=365)
    row(started_at=ahead)
    assert (clock().state, f"{ahead:%Y-%m-%d %H:%M} UTC" in clock().sentence) == ("warning", True)
