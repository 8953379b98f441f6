"""Importing pages: files and rows, once, whole, and without a look outside of the source."""

import hashlib
import json
import os
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.db import OperationalError, connection, connections

from archivebox.base_models.rows import new_id
from archivebox.base_models.users import system_user
from archivebox.config.settings import DATA_FOLDER
from archivebox.core.crawl_control.retry import lacking_hooks
from archivebox.core.evidence.verification import problems_of
from archivebox.core.models import Snapshot
from archivebox.imports.batch import SIZE_MOST
from archivebox.imports.import_folder import LeftOutList
from archivebox.imports.models import ImportedSnapshot
from archivebox.imports.page import NotReadableError
from archivebox.imports.page_files import Transfer
from archivebox.imports.readers import open_reader
from archivebox.jobs.action import DeferredError
from archivebox.jobs.begin import JobRefusedError
from archivebox.jobs.inspecting import begin_import
from archivebox.jobs.models import Job, JobFailure, JobPart, packed
from archivebox.jobs.page_imports import ImportPages
from archivebox.jobs.runner import next_part, write_part
from archivebox.lib.batches import batches
from tests.job_runner import carried_out, leased
from tests.old_collection import FIRST, SECOND, make_old_collection
from tests.unit.imports.archives import Said, assert_stops, write_warc

pytestmark = pytest.mark.database


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return make_old_collection(tmp_path / "old")


def digests(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def imported(source: Path, transfer: Transfer = Transfer.COPY) -> Job:
    return carried_out(begin_import(source, open_reader(source).report(), system_user(), transfer=transfer))


def split(job: Job, size: int) -> None:
    """Have parts of so many pages."""
    keys = [key for part in JobPart.objects.filter(job=job).order_by("number") for key in part.keys]
    JobPart.objects.filter(job=job).delete()
    for number, few in enumerate(batches(keys, size)):
        JobPart.objects.create(job=job, number=number, keys_packed=packed(few))


def carry_out_anew(job: Job) -> Job:
    """One part, by a worker that knows nothing of those before it."""
    action, part = ImportPages(job), next_part(job)
    assert part is not None
    action.begin_or_resume()
    action.prepare(part.keys)
    written = write_part(job, action, part)
    assert written is not None
    return written


@pytest.mark.django_db(transaction=True)
def test_pages_come_with_dates_tags_results_and_files(source: Path) -> None:
    before = digests(source)
    job = imported(source)
    assert (job.done, job.failed, job.memory["counts"]["imported"]) == (2, 0, 2)
    page = Snapshot.objects.get(imported_from__key=FIRST)
    assert page.bookmarked_at == datetime(2020, 9, 13, 12, 26, 40, 123456, tzinfo=UTC)
    assert page.sealed_at == datetime(2020, 9, 14, 10, 0, 1, 2, tzinfo=UTC)
    assert page.created_at == datetime(2020, 9, 14, 10, 0, 1, tzinfo=UTC)
    assert [tag.name for tag in page.tags.all()] == ["fruit"]
    results = {one.plugin: one for one in page.archiveresult_set.all()}
    assert {name: one.status for name, one in results.items()} == {
        "singlefile": "succeeded", "htmltotext": "succeeded", "pdf": "failed", "wget": "succeeded",
        "imported": "succeeded", "hashes": "succeeded",
    }  # fmt: skip
    assert all(one.hook_name is None for one in results.values())
    assert results["pdf"].sentence == "No browser"
    assert list(results["wget"].output_files) == ["example.com/index.html"]
    assert (page.path / "singlefile/singlefile.html").read_text() == "<title>Pear</title>quince"
    assert problems_of([page]) == {}
    assert digests(source) == before


@pytest.mark.django_db(transaction=True)
def test_that_pages_are_not_signed_is_logged_once(source: Path, caplog: pytest.LogCaptureFixture) -> None:
    key = DATA_FOLDER.keys / "signing-key.pem"
    before = key.read_bytes() if key.exists() else None
    key.parent.mkdir(parents=True, exist_ok=True)
    key.write_text("no key")
    try:
        assert imported(source).done == 2
    finally:
        key.unlink()
        if before is not None:
            key.write_bytes(before)
            key.chmod(0o600)
    assert sum("action=not_signed" in record.message for record in caplog.records) == 1


@pytest.mark.django_db(transaction=True)
def test_a_page_without_a_text_gets_that_of_the_html_saved(source: Path) -> None:
    (source / "archive" / FIRST / "htmltotext.txt").unlink()
    imported(source)
    page = Snapshot.objects.get(imported_from__key=FIRST)
    assert page.archiveresult_set.get(plugin="htmltotext").status == "succeeded"
    assert "quince" in (page.path / "htmltotext/htmltotext.txt").read_text()
    assert not list(DATA_FOLDER.imports.glob("reading-*/page-*"))


@pytest.mark.django_db(transaction=True)
def test_a_page_whose_html_cannot_be_parsed_says_that_its_text_is_missing(source: Path) -> None:
    folder = source / "archive" / FIRST
    (folder / "htmltotext.txt").unlink()
    for copy in folder.rglob("*.html"):
        copy.write_text("<div>" * 200_000)
    imported(source)
    result = Snapshot.objects.get(imported_from__key=FIRST).archiveresult_set.get(plugin="htmltotext")
    assert (result.status, result.output_str) == ("failed", "Reading this page would take too long or too much memory")


@pytest.mark.django_db(transaction=True)
def test_a_page_captured_again_is_another_version_of_one_url(source: Path) -> None:
    imported(source)
    assert Snapshot.objects.filter(url="https://example.com/", status="sealed").count() == 2


@pytest.mark.django_db(transaction=True)
def test_what_was_imported_is_not_imported_again_from_wherever(source: Path) -> None:
    imported(source)
    job = imported(source.rename(source.with_name("moved")))
    assert (job.memory["counts"]["imported"], job.memory["counts"]["known"]) == (0, 2)
    assert Snapshot.objects.count() == ImportedSnapshot.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_files_of_a_part_that_was_cut_short_are_written_anew(source: Path) -> None:
    job = leased(begin_import(source, open_reader(source).report(), system_user()))
    part = next_part(job)
    assert part is not None
    killed = ImportPages(job)
    killed.begin_or_resume()
    killed.prepare(part.keys)
    for path in DATA_FOLDER.users.rglob("singlefile.html"):
        path.write_text("half")
    Job.objects.filter(pk=job.pk).update(owner=None)
    assert carried_out(job).done == 2
    assert problems_of(Snapshot.objects.all()) == {}
    texts = {(page.path / "singlefile" / "singlefile.html").read_text() for page in Snapshot.objects.all()}
    assert texts == {"<title>Pear</title>quince"}


@pytest.mark.django_db(transaction=True)
def test_links_are_not_followed_but_listed(source: Path) -> None:
    job = imported(source)
    left_out = LeftOutList(job.pk).first(10)
    assert [one.item for one in left_out] == [f"{FIRST}/outside", f"{SECOND}/outside"]
    assert {one.reason for one in left_out} == {"It is a symbolic link."}


@pytest.mark.django_db(transaction=True)
def test_what_is_of_no_page_is_reported_and_listed(source: Path) -> None:
    (source / "logs").mkdir()
    (source / "archive" / "1500000000").mkdir()
    expected = [("archive/1500000000", "The database has no page of this timestamp."),
                ("logs", "Logs are not taken over.")]  # fmt: skip
    assert [(one.item, one.reason) for one in open_reader(source).report().not_imported] == expected
    assert [(one.item, one.reason) for one in LeftOutList(imported(source).pk).first(10)][-2:] == expected


@pytest.mark.django_db(transaction=True)
def test_urls_that_no_page_was_archived_from_are_refused(source: Path) -> None:
    with closing(sqlite3.connect(source / "index.sqlite3")) as database:
        database.execute("UPDATE core_snapshot SET url = 'javascript:alert(1)' WHERE timestamp = ?", [SECOND])
        database.commit()
    job = imported(source)
    assert (job.done, job.failed, Snapshot.objects.count()) == (1, 1, 1)
    assert LeftOutList(job.pk).first(1)[0].reason == "javascript URLs are not archived."


@pytest.mark.django_db(transaction=True)
def test_a_source_is_imported_by_one_job_at_a_time(source: Path) -> None:
    report = open_reader(source).report()
    begin_import(source, report, system_user())
    with pytest.raises(JobRefusedError, match="is being imported"):
        begin_import(source, report, system_user())


@pytest.mark.django_db(transaction=True)
def test_a_timestamp_that_leads_elsewhere_brings_no_files(source: Path) -> None:
    with closing(sqlite3.connect(source / "index.sqlite3")) as database:
        database.execute("UPDATE core_snapshot SET timestamp = '../../etc' WHERE timestamp = ?", [SECOND])
        database.commit()
    imported(source)
    page = Snapshot.objects.get(imported_from__key="../../etc")
    assert not page.archiveresult_set.exists()


@pytest.mark.django_db(transaction=True)
def test_moved_files_leave_the_source_when_all_is_imported(source: Path) -> None:
    inode = (source / "archive" / FIRST / "singlefile.html").stat().st_ino
    imported(source, Transfer.MOVE)
    page = Snapshot.objects.get(imported_from__key=FIRST)
    assert (page.path / "singlefile/singlefile.html").stat().st_ino == inode
    assert not (source / "archive" / FIRST / "singlefile.html").exists()


@pytest.mark.django_db(transaction=True)
def test_no_hook_runs_for_an_imported_page_when_pages_are_updated(source: Path) -> None:
    imported(source)
    assert lacking_hooks(Snapshot.objects.all()) == []


def test_pages_are_found_without_a_database(source: Path) -> None:
    (source / "index.sqlite3").unlink()
    for timestamp in (FIRST, SECOND):
        index = {"url": "https://example.com/", "timestamp": timestamp, "tags": "a,b", "history": {"pdf": "broken"}}
        (source / "archive" / timestamp / "index.json").write_text(json.dumps(index))
    (source / "archive" / SECOND / "index.json").write_text("[" * 100_000)
    assert open_reader(source).report().pages == 1


def test_what_is_no_source_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotReadableError):
        open_reader(tmp_path)


@pytest.mark.django_db(transaction=True)
def test_a_file_that_was_imported_is_not_imported_again_from_wherever(tmp_path: Path) -> None:
    content = (Path(__file__).parents[2] / "unit" / "imports" / "files" / "wget.warc.gz").read_bytes()
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "wget.warc.gz").write_bytes(content)
    counts = [imported(tmp_path / name / "wget.warc.gz").memory["counts"] for name in ("here", "there")]
    assert [(one["imported"], one["known"]) for one in counts] == [(2, 0), (0, 2)]
    assert not list(DATA_FOLDER.imports.glob("reading-*/page-*"))


@pytest.mark.django_db(transaction=True)
def test_a_page_that_cannot_be_read_fails_with_its_reason_and_no_other(tmp_path: Path) -> None:
    answers = [
        Said(f"http://a.example/{number}", b"<p>x", date=f"2024-05-06T07:08:{number:02}Z") for number in range(41)
    ]
    for number in range(20):
        answers[number].headers["Content-Encoding"] = "zstd"  # type: ignore[index]  # a dictionary of its own
    write_warc(tmp_path / "a.warc", answers)
    job = imported(tmp_path / "a.warc")
    assert (job.done, job.failed, job.memory["counts"]["imported"]) == (21, 20, 21)
    sentences = set(JobFailure.objects.filter(job=job).values_list("sentence", flat=True))
    assert len(sentences) == 20
    assert all("zstd" in one for one in sentences)


@pytest.mark.django_db(transaction=True)
def test_unreadable_pages_are_not_counted_again_after_a_kill(tmp_path: Path) -> None:
    answers = [
        Said(f"http://a.example/{number}", b"<p>x", date=f"2024-05-06T07:08:{number:02}Z") for number in range(4)
    ]
    for number in (1, 2):
        answers[number].headers["Content-Encoding"] = "zstd"  # type: ignore[index]  # a dictionary of its own
    write_warc(tmp_path / "a.warc", answers)
    job = leased(begin_import(tmp_path / "a.warc", open_reader(tmp_path / "a.warc").report(), system_user()))
    split(job, 2)
    done = carry_out_anew(carry_out_anew(job))
    assert (done.done, done.failed, done.memory["counts"]["left_out"]) == (2, 2, 2)
    assert [one.item for one in LeftOutList(job.pk).first(10)] == ["http://a.example/1", "http://a.example/2"]


def add_pages(source: Path, count: int, text: str) -> None:
    """Some with one file each."""
    rows = [(f"{number:032}", f"https://example.com/{number}", f"17000{number:05}.0") for number in range(count)]
    with closing(sqlite3.connect(source / "index.sqlite3")) as database:
        database.executemany("INSERT INTO core_snapshot VALUES (?, ?, ?, '', '2023-11-15 00:00:00', NULL)", rows)
        database.commit()
    for _, url, timestamp in rows:
        (source / "archive" / timestamp).mkdir()
        (source / "archive" / timestamp / "singlefile.html").write_text(f"<title>{url}</title>{text}")


def written_since(former: dict[Path, int]) -> set[Path]:
    return {path for path, made in saved_pages().items() if former.get(path) != made}


@pytest.mark.django_db(transaction=True)
def test_pages_of_several_parts_are_imported_once_each(source: Path) -> None:
    add_pages(source, 50, "rowan")
    (source / "archive" / "1700000003.0" / "outside").symlink_to("/etc/hostname")
    begun = leased(begin_import(source, open_reader(source).report(), system_user()))
    split(begun, 23)
    Job.objects.filter(pk=begun.pk).update(owner=None)
    job = carried_out(begun)
    assert (job.done, job.failed, job.memory["counts"]["files"]) == (52, 0, 2 * 50 + 8)
    assert Snapshot.objects.count() == ImportedSnapshot.objects.count() == 52
    assert problems_of(Snapshot.objects.all()) == {}
    page = Snapshot.objects.get(imported_from__key="1700000003.0")
    assert [one.plugin for one in page.archiveresult_set.order_by("plugin")] == ["hashes", "htmltotext", "singlefile"]
    listed = page.archiveresult_set.get(plugin="singlefile").output_files
    assert listed == {"singlefile.html": {"size": page.path.joinpath("singlefile/singlefile.html").stat().st_size,
                                          "mimetype": "text/html"}}  # fmt: skip
    assert ("1700000003.0/outside", "It is a symbolic link.") in {
        (one.item, one.reason) for one in LeftOutList(job.pk).first(10)
    }


def interrupt_in_large_file(source: Path, meanwhile: Callable[[Job], object]) -> set[Path]:
    """What is left of a part that was interrupted when most of its files were written."""
    add_pages(source, 20, "rowan")
    large = source / "archive" / "1700000019.0" / "large.html"
    large.touch()
    os.truncate(large, 64 << 30)  # a hole: no disk is needed
    job = leased(begin_import(source, open_reader(source).report(), system_user(), transfer=Transfer.LINK))
    action, part, former = ImportPages(job), next_part(job), saved_pages()
    assert part is not None
    action.begin_or_resume()
    with ThreadPoolExecutor(1) as thread:
        preparing = thread.submit(action.prepare, part.keys)
        while not any(path.name == "large.html" for path in written_since(former)):
            time.sleep(0.01)
        meanwhile(job)
        action.interrupt()
        with pytest.raises(DeferredError):
            preparing.result()
        thread.submit(connections.close_all).result()
    action.close()
    return written_since(former)


@pytest.mark.django_db(transaction=True)
def test_an_import_that_is_interrupted_in_a_large_file_leaves_no_files(source: Path) -> None:
    assert interrupt_in_large_file(source, lambda _: None) == set()


@pytest.mark.django_db(transaction=True)
def test_files_of_a_part_stay_where_another_worker_has_the_job(source: Path) -> None:
    assert interrupt_in_large_file(source, lambda job: Job.objects.filter(pk=job.pk).update(owner=new_id()))


@pytest.mark.django_db(transaction=True)
def test_files_of_a_part_stay_where_the_database_is_away(source: Path) -> None:
    def be_away(*_: object) -> None:
        raise OperationalError

    action = ImportPages(leased(begin_import(source, open_reader(source).report(), system_user())))
    assert action._holds_lease()
    with connection.execute_wrapper(be_away):
        assert not action._holds_lease()


@pytest.mark.django_db(transaction=True)
def test_a_part_ends_early_behind_a_large_file_and_goes_on_there(source: Path) -> None:
    with closing(sqlite3.connect(source / "index.sqlite3")) as database:
        rows = [(f"{number:032}", f"https://example.com/{number}", f"170000000{number}.0") for number in range(4)]
        database.executemany("INSERT INTO core_snapshot VALUES (?, ?, ?, '', '2023-11-15 00:00:00', NULL)", rows)
        database.commit()
    os.truncate(source / "archive" / FIRST / "singlefile.html", SIZE_MOST + 1)  # a hole: no disk is needed
    begun = leased(begin_import(source, open_reader(source).report(), system_user(), transfer=Transfer.LINK))
    job = carry_out_anew(begun)
    assert (job.position, job.done) == (0, 1)
    assert Snapshot.objects.count() == ImportedSnapshot.objects.count() == 1
    assert len(JobPart.objects.get(job=job).keys) == 5
    job = carry_out_anew(job)
    assert (job.position, job.done, job.failed) == (1, 6, 0)
    assert Snapshot.objects.count() == 6
    assert problems_of(Snapshot.objects.filter(imported_from__key=FIRST)) == {}


@pytest.mark.django_db(transaction=True)
def test_reading_an_old_collection_ends_when_it_is_to_stop(source: Path) -> None:
    assert_stops(open_reader(source))


def saved_pages() -> dict[Path, int]:
    """Those in the collection, and when each was made: other tests may have left files of the same names."""
    found = {}
    for folder, _, names in os.walk(DATA_FOLDER.users):  # rglob breaks where another thread removes a folder
        for path in (Path(folder, name) for name in names if name.endswith(".html")):
            with suppress(FileNotFoundError):  # another thread replaces them
                found[path] = path.stat().st_ctime_ns
    return found


@pytest.mark.django_db(transaction=True)
def test_an_interrupted_part_leaves_no_files_without_rows(source: Path) -> None:
    job = leased(begin_import(source, open_reader(source).report(), system_user()))
    part = next_part(job)
    assert part is not None
    action = ImportPages(job)
    action.begin_or_resume()
    former, written = saved_pages(), dict[Path, int]()

    def stop() -> None:
        written.update({path: made for path, made in saved_pages().items() if former.get(path) != made})
        if written:
            raise DeferredError

    action._stop = stop  # type: ignore[method-assign]  # as when somebody pauses it behind the first file
    with pytest.raises(DeferredError):
        action.prepare(part.keys)
    assert written
    assert not any(path.exists() for path in written)
