"""What is done to a few pages is done at once, and undone to those that it changed."""

import pytest
from django.contrib.auth.models import User

from archivebox.base_models.users import system_user
from archivebox.core.models import Snapshot
from archivebox.core.tags.assign_tags import tag
from archivebox.jobs.at_once import FEW, can_undo, do, undo
from archivebox.jobs.begin import JobRequest
from archivebox.jobs.models import JobFailure
from tests import factories

pytestmark = [pytest.mark.usefixtures("collection"), pytest.mark.database]
URLS = [f"https://{name}.example/" for name in "abc"]


@pytest.fixture
def user() -> User:
    return system_user()


@pytest.fixture
def pages() -> list[Snapshot]:
    return list(factories.crawl(*URLS).snapshot_set.order_by("url"))


def tagged() -> list[str]:
    return list(Snapshot.objects.filter(tags__name="old").order_by("url").values_list("url", flat=True))


def test_tags_are_put_on_and_undone_where_they_were_new(user: User, pages: list[Snapshot]) -> None:
    tag([pages[0].pk], ["old"])
    job = do(JobRequest("tag", created_by=user, options={"tags": ["old"]}, snapshots=[page.pk for page in pages]))
    assert (job.status, job.retry_at, job.done) == ("sealed", None, 3)
    assert tagged() == URLS
    undo(job, user)
    assert tagged() == URLS[:1]


def test_tags_that_were_taken_off_come_back_where_they_were(user: User, pages: list[Snapshot]) -> None:
    tag([pages[0].pk], ["old"])
    job = do(JobRequest("untag", created_by=user, options={"tags": ["old"]}, query=""))
    assert tagged() == []
    undo(job, user)
    assert tagged() == URLS[:1]


def test_what_was_removed_comes_back_and_new_versions_go(user: User, pages: list[Snapshot]) -> None:
    removed = do(JobRequest("remove", created_by=user, query="host:a.example"))
    assert Snapshot.objects.kept().count() == 2
    undo(removed, user)
    assert Snapshot.objects.kept().count() == 3
    again = do(JobRequest("recapture", created_by=user, snapshots=[pages[0].pk]))
    assert Snapshot.objects.kept().count() == 4
    undo(again, user)
    assert Snapshot.objects.kept().count() == 3
    assert not can_undo(do(JobRequest("retry", created_by=user, query="")))


def test_many_and_what_takes_long_are_left_to_workers(user: User, pages: list[Snapshot]) -> None:
    assert do(JobRequest("verify", created_by=user, snapshots=[pages[0].pk])).status == "queued"
    factories.crawl(*(f"https://many.example/{number}" for number in range(FEW)))
    assert do(JobRequest("tag", created_by=user, options={"tags": ["old"]}, query="")).status == "queued"
    assert do(JobRequest("remove", created_by=user, query="host:nowhere.example")).status == "queued"


def test_a_page_that_is_gone_is_said(user: User, pages: list[Snapshot]) -> None:
    Snapshot.objects.filter(pk=pages[0].pk).delete()
    job = do(JobRequest("tag", created_by=user, options={"tags": ["old"]}, snapshots=[page.pk for page in pages]))
    assert (job.done, job.failed) == (2, 1)
    assert JobFailure.objects.get(job=job).snapshot_id == pages[0].pk
