from datetime import timedelta

import pytest
from django.db import connection

from archivebox.machine.host import Machine
from archivebox.workers.queue.readiness_check import ReadinessCheck, problems

pytestmark = [pytest.mark.usefixtures("collection"), pytest.mark.database]


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def check(told: list[str]) -> ReadinessCheck:
    return ReadinessCheck(told.append)


def change_migrations(query: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(query)


def test_no_work_begins_once_a_newer_version_has_changed_the_database(check: ReadinessCheck, told: list[str]) -> None:
    assert check.may_begin()
    change_migrations("INSERT INTO django_migrations (app, name, applied) VALUES ('core', '9999_newer', '2026-01-01')")
    assert not check.may_begin()
    assert not check.may_begin()
    (said,) = told
    assert "core.9999_newer" in said
    assert "newer version of ArchiveBox" in said
    assert "newer version" in problems()["database"]
    change_migrations("DELETE FROM django_migrations WHERE name = '9999_newer'")
    assert check.may_begin()
    assert len(told) == 2, "that it goes on, too"


def test_no_work_begins_on_a_machine_that_drains(check: ReadinessCheck, told: list[str]) -> None:
    Machine.current().drain(timedelta(minutes=1))
    assert not check.may_begin()
    assert "draining" in told[0]
    Machine.current().resume()
    assert check.may_begin()
