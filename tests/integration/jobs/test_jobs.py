"""A job does what it is asked to all of its pages, each once, and says to which it could not."""

import hashlib
import json
import os
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from uuid import UUID

import pytest
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from archivebox.base_models.rows import new_id
from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.users import system_user
from archivebox.config.settings import DATA_FOLDER
from archivebox.core.crawl_control.retry import retry_failed
from archivebox.core.evidence.signature import UNSIGNED, sign
from archivebox.core.evidence.signer import STATEMENT
from archivebox.core.evidence.verification import NO_HASHES
from archivebox.core.models import ArchiveResult, Snapshot
from archivebox.core.versions.url_versions import mark_for_purge, restore
from archivebox.crawls import control
from archivebox.crawls.models import Crawl
from archivebox.jobs.action import GONE
from archivebox.jobs.actions import ACTIONS
from archivebox.jobs.begin import JobRefusedError, JobRequest, add_parts, begin, next_selected
from archivebox.jobs.models import Job, JobFailure
from archivebox.jobs.runner import end_lease, next_part, write_part
from archivebox.jobs.storage_upkeep import purge_today
from archivebox.lib.jsonl import JSON
from archivebox.replay.models import create_script_view, memory_of_view
from archivebox.search.query import QueryError
from archivebox.search.removal import remove
from archivebox.storage.layout import DataFolder
from tests import factories
from tests.collection import somebody_waits
from tests.integration.engine.driver import wait_for
from tests.job_runner import carried_out, leased
from tests.status_triggers import arrange

pytestmark = pytest.mark.usefixtures("collection")
URLS = [f"https://{name}.example/" for name in "abcde"]
Keys = list[UUID]


@pytest.fixture
def keys() -> Keys:
    """Five pages, each with a file of five bytes and a WARC."""
    rows = list(factories.crawl(*URLS).snapshot_set.order_by("id"))
    for row in rows:
        (row.path / "wget").mkdir(parents=True)
        for name in ("index.html", "all.warc.gz"):
            (row.path / "wget" / name).write_bytes(row.url[8:13].encode())
        files = {"index.html": {"size": 5}, "all.warc.gz": {"size": 5}}
        ArchiveResult.objects.create(
            snapshot=row, plugin="wget", status="succeeded", output_files=files, output_size=10
        )
    return [row.pk for row in rows]


def do(kind: str, keys: Keys = (), query: str | None = None, **options: JSON) -> Job:  # type: ignore[assignment]  # none
    return carried_out(begin(JobRequest(kind, created_by=system_user(), options=options, query=query, snapshots=keys)))


def test_what_a_query_means_is_decided_at_the_beginning(keys: Keys) -> None:
    done = do("tag", query="-#new host:*.example or host:a.example", tags=["new"])
    assert (done.status, done.total, done.done, done.failed) == ("sealed", 5, 5, 0)
    assert done.ended_at
    assert Snapshot.objects.filter(tags__name="new").count() == 5
    assert do("untag", keys[:2], tags=["NEW"]).done == 2
    assert Snapshot.objects.filter(tags__name="new").count() == 3
    assert do("tag", query="#nothing", tags=["x"]).total == 0


@pytest.mark.once
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("event", ["seal", "pause"])
def test_who_waits_for_a_job_is_told_of_its_end(keys: Keys, event: str) -> None:
    job = leased(begin(JobRequest("verify", created_by=system_user(), snapshots=keys)))
    DATA_FOLDER.wakeup_file.parent.mkdir(parents=True, exist_ok=True)
    DATA_FOLDER.wakeup_file.touch()
    os.utime(DATA_FOLDER.wakeup_file, (0, 0))
    end_lease(job, event)
    assert DATA_FOLDER.wakeup_file.stat().st_mtime > 0


@pytest.mark.once
def test_of_what_an_index_lists_a_later_part_is_asked_for_what_is_left(keys: Keys) -> None:
    job = begin(JobRequest("tag", created_by=system_user(), query="plugin:wget", options={"tags": ["x"]}))
    add_parts(job, [keys[4], keys[3]])
    with CaptureQueriesContext(connection) as asked:
        assert next_selected(job) == list(reversed(keys[:3]))
    listed = asked[-1]["sql"].partition("archiveresult")[2]
    assert f"\"snapshot_id\" <= '{keys[3].hex}'" in listed


def test_a_part_is_done_once_whoever_tries_it_again(keys: Keys) -> None:
    job = leased(begin(JobRequest("tag", created_by=system_user(), snapshots=keys, options={"tags": ["x"]})))
    action, part = ACTIONS["tag"](job), next_part(job)
    assert part
    assert write_part(job, action, part)
    again = write_part(job, action, part)
    assert again
    assert (again.done, again.position) == (5, 1)
    other = new_id()
    Job.objects.filter(pk=job.pk).update(owner=other)
    assert write_part(job, action, part) is None


def test_what_is_removed_meanwhile_is_a_failure_with_its_reason(keys: Keys) -> None:
    job = begin(JobRequest("tag", created_by=system_user(), snapshots=keys, options={"tags": ["x"]}))
    remove(Snapshot.objects.filter(pk=keys[0]))
    done = carried_out(job)
    assert (done.done, done.failed) == (4, 1)
    assert JobFailure.objects.get(job=done).sentence == GONE


def test_files_of_removed_pages_go_when_their_time_is_over(keys: Keys, collection: DataFolder) -> None:
    remove(Snapshot.objects.filter(pk__in=keys[:2]))
    Snapshot.objects.filter(pk=keys[0]).update(retired_at=timezone.now() - timedelta(days=31))
    folder = Snapshot.objects.get(pk=keys[0]).path
    no_file = collection.imports / "folder"
    no_file.mkdir(parents=True)
    os.utime(no_file, (0, 0))
    purge_today(0)
    assert not Job.objects.exists()
    purge_today(30)
    purge_today(30)
    done = carried_out(Job.objects.get())
    assert (done.kind, done.done, folder.exists()) == ("purge", 1, False)
    assert not Snapshot.objects.filter(pk=keys[0]).exists()
    assert Snapshot.objects.get(pk=keys[1]).path.is_dir()


def test_what_replay_made_of_purged_pages_goes_with_them(keys: Keys, collection: DataFolder) -> None:
    remove(Snapshot.objects.filter(pk=keys[0]))
    rows = [Snapshot.objects.get(pk=key) for key in keys[:2]]
    views = [create_script_view(row, "viewer", row.url)[0] for row in rows]
    for view in views:
        memory_of_view(view.pk).add_route(f"{view.url}deep", view.url)
    collection.rewritten.mkdir(parents=True)
    (collection.rewritten / "document").write_text("<p>of one of them")
    assert do("purge", keys[:1]).done == 1
    assert not collection.rewritten.exists(), "nobody knows of which page a document is"
    assert [path.name for path in collection.script_views.iterdir()] == [str(views[1].pk)]
    create_script_view(rows[1], "viewer", rows[1].url)
    assert memory_of_view(views[1].pk).route(f"{rows[1].url}deep") == rows[1].url
    views[1].end()
    assert list(collection.script_views.iterdir()) == []


def test_what_is_deleted_for_good_is_brought_back_whole_or_not_at_all(keys: Keys) -> None:
    remove(Snapshot.objects.filter(pk__in=keys))
    assert do("restore", keys[:1]).done == 1
    job = leased(begin(JobRequest("purge", created_by=system_user(), snapshots=keys[1:3])))
    restored = Snapshot.objects.filter(pk=keys[1])
    assert restore(restored) == 1  # between the beginning of the job and its turn
    ACTIONS["purge"](job).prepare(keys[:3])  # here its worker dies
    assert [Snapshot.objects.get(pk=key).path.is_dir() for key in keys[:3]] == [True, True, False]
    assert restore(Snapshot.objects.filter(pk=keys[2])) == 0
    assert do("restore", keys[2:3]).failed == 1
    Snapshot.objects.filter(pk=keys[2]).update(retired_at=timezone.now() - timedelta(days=31))
    Job.objects.all().delete()
    purge_today(30)
    assert carried_out(Job.objects.get()).done == 1
    assert not Snapshot.objects.filter(pk=keys[2]).exists()
    assert Snapshot.objects.kept().count() == 2


@pytest.mark.database
@pytest.mark.usefixtures("transactional_db")
def test_who_brings_back_what_is_about_to_be_deleted_waits_and_finds_it_gone(keys: Keys) -> None:
    rows = Snapshot.objects.filter(pk__in=keys)
    remove(rows)
    with ThreadPoolExecutor(max_workers=1) as others:
        with write_transaction():
            assert mark_for_purge(rows) == 5
            restored = others.submit(restore, rows.all())
            wait_for("the restoring", somebody_waits)
        assert restored.result() == 0
        others.submit(connections.close_all).result()


def test_what_failed_is_tried_again_and_pages_get_new_versions_in_one_crawl(keys: Keys) -> None:
    failed = {"plugin": "title", "status": "failed", "reason": "timeout:5"}
    for key in keys[:2]:
        ArchiveResult.objects.create(snapshot_id=key, hook_name="on_Snapshot__54_title.py", **failed)
    ArchiveResult.objects.create(snapshot_id=keys[2], **failed)  # imported: no hook of ours has made it
    assert do("retry", query="reason:timeout", plugins=["title"]).done == 3
    assert ArchiveResult.objects.filter(plugin="title", status="queued").count() == 2
    assert retry_failed(Snapshot.objects.all()) == 0
    done = do("recapture", keys, plugins=["title"])
    crawl = Crawl.objects.get(pk=done.memory["crawl"])
    assert sorted(crawl.snapshot_set.values_list("url", flat=True)) == URLS


def test_files_are_compared_with_their_hashes_and_these_with_their_signature(
    keys: Keys, collection: DataFolder
) -> None:
    for key in keys[1:]:
        folder = Snapshot.objects.get(pk=key).path
        names = ("wget/all.warc.gz", "wget/index.html")
        hashes = {name: {"sha256": hashlib.sha256((folder / name).read_bytes()).hexdigest()} for name in names}
        (folder / "hashes").mkdir()
        (folder / "hashes" / "hashes.json").write_text(json.dumps({"files": hashes}))
        if key != keys[4]:
            sign(folder, collection.keys, key, "https://any.example/")
    folder = Snapshot.objects.get(pk=keys[1]).path
    (folder / "wget" / "index.html").write_text("other")
    (folder / "wget" / "all.warc.gz").unlink()
    done = do("verify", keys)
    assert (done.done, done.failed) == (2, 3)
    said = dict(JobFailure.objects.filter(job=done).values_list("snapshot_id", "sentence"))
    assert said[keys[0]] == NO_HASHES
    assert said[keys[1]] == "1 changed: wget/index.html. 1 missing: wget/all.warc.gz."
    assert said[keys[4]] == UNSIGNED
    arrange(Snapshot.objects.all(), status="sealed")
    signed = do("sign", keys)
    assert (signed.done, signed.failed) == (4, 1)
    assert JobFailure.objects.get(job=signed).sentence == NO_HASHES
    assert do("verify", keys[4:]).done == 1
    (folder / STATEMENT).unlink()
    assert "not as it was kept" in JobFailure.objects.get(job=do("sign", keys[1:2])).sentence


def test_a_job_is_paused_resumed_and_cancelled(keys: Keys) -> None:
    job = begin(JobRequest("tag", created_by=system_user(), snapshots=keys, options={"tags": ["x"]}))
    assert control.pause(job)
    assert Job.claim([job.pk], new_id()) == {}
    assert control.resume(job)
    assert control.cancel(job)
    assert not control.resume(job)
    assert Snapshot.objects.filter(tags__name="x").count() == 0


@pytest.mark.parametrize(
    ("kind", "options", "sentence"),
    [
        ("fly", {}, "no job"),
        ("tag", {}, "Name one tag"),
        ("tag", {"tags": ["!"]}, "Name one tag"),
        ("tag", {"tags": "x"}, "list of names"),
        ("retry", {"plugins": ["nothing"]}, "no plugin"),
        ("export", {"format": "pdf"}, "Choose a format: zip"),
        ("remove", {"x": 1}, "knows no option x"),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_happens(
    keys: Keys, kind: str, options: dict[str, JSON], sentence: str
) -> None:
    with pytest.raises(JobRefusedError, match=sentence):
        begin(JobRequest(kind, created_by=system_user(), options=options, snapshots=keys))
    with pytest.raises(JobRefusedError, match="Choose pages"):
        begin(JobRequest("verify", created_by=system_user()))
    with pytest.raises(QueryError):
        begin(JobRequest("verify", created_by=system_user(), query="is:what"))
    assert not Job.objects.exists()
