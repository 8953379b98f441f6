"""Real collections of earlier versions: counts, dates, tags, files, accounts, schedules and settings."""

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from archivebox.accounts.roles import Role, role_of
from archivebox.base_models.users import system_user
from archivebox.config.settings import DATA_FOLDER
from archivebox.core.evidence.verification import problems_of
from archivebox.core.models import ArchiveResult, Snapshot
from archivebox.crawls.models import CrawlSchedule
from archivebox.hooks.stored_settings import stored_settings
from archivebox.imports.import_folder import LeftOutList
from archivebox.imports.readers import open_reader
from archivebox.jobs.inspecting import begin_import
from archivebox.jobs.models import Job
from tests import older
from tests.job_runner import carried_out
from tests.old_collection import unpack

pytestmark = pytest.mark.django_db(transaction=True)
PAGES = {"0.4.21": 2, "0.5.4": 2, "0.6.2": 2, "0.7.4": 3, "0.9": 1, "0.9-upgraded": 3}


@pytest.fixture(autouse=True)
def conf() -> Iterator[None]:
    """The collection of all tests has no settings before and after one of these."""
    yield
    DATA_FOLDER.conf.unlink(missing_ok=True)


def imported(source: Path, *, pages_only: bool = False) -> Job:
    report = open_reader(source).report()
    return carried_out(begin_import(source, report, system_user(), pages_only=pages_only))


def digests(folder: Path) -> list[str]:
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sorted(hashlib.sha256(path.read_bytes()).hexdigest() for path in files)


def rows(source: Path, query: str) -> list[tuple[str, ...]]:
    with closing(sqlite3.connect(f"file:{source}/index.sqlite3?mode=ro&immutable=1", uri=True)) as database:
        return list(database.execute(query))


@pytest.mark.parametrize("version", PAGES)
def test_every_page_and_file_of_a_real_collection_is_imported_once(version: str, tmp_path: Path) -> None:
    source = unpack(version, tmp_path)
    before = older.digest(source)
    job = imported(source, pages_only=True)
    assert (job.done, job.failed, Snapshot.objects.count()) == (PAGES[version], 0, PAGES[version])
    known = {(str(time), added) for time, added in rows(source, "SELECT timestamp, url FROM core_snapshot")}
    for page in Snapshot.objects.select_related("imported_from"):
        key = page.imported_from.key
        assert key in {time for time, _ in known}
        assert page.bookmarked_at is not None
        assert page.bookmarked_at.timestamp() == pytest.approx(float(key), abs=0.0000005)
    assert problems_of(Snapshot.objects.all()) == {}
    assert older.digest(source) == before
    again = imported(source, pages_only=True)
    assert (again.memory["counts"]["imported"], Snapshot.objects.count()) == (0, PAGES[version])


@pytest.mark.parametrize("version", ["0.4.21", "0.7.4", "0.9"])
def test_the_files_of_pages_are_those_of_the_source(version: str, tmp_path: Path) -> None:
    source = unpack(version, tmp_path)
    imported(source, pages_only=True)
    kept = [digest for page in Snapshot.objects.all() for digest in digests(page.path)]
    hashes = [digest for page in Snapshot.objects.all() for digest in digests(page.path / "hashes")]
    folder = "archive/users/system/snapshots" if version == "0.9" else "archive"
    made = [digest for page in Snapshot.objects.all() for digest in digests(page.path / "htmltotext")]
    made = [] if version == "0.7.4" else made
    assert sorted(kept) == sorted(hashes + made + digests(source / folder))
    assert len(made) == {"0.4.21": 2, "0.7.4": 0, "0.9": 1}[version], "texts of pages that came without"


@pytest.mark.database
def test_dates_tags_titles_and_results_are_those_of_0_7(tmp_path: Path) -> None:
    source = unpack("0.7.4", tmp_path)
    imported(source, pages_only=True)
    (url, title, time), *_ = rows(source, "SELECT url, title, timestamp FROM core_snapshot ORDER BY timestamp")
    of_page = f"snapshot_id = (SELECT id FROM core_snapshot WHERE timestamp = '{time}')"
    query = f"SELECT min(start_ts) FROM core_archiveresult WHERE status = 'succeeded' AND {of_page}"
    ((started,),) = rows(source, query)
    page = Snapshot.objects.get(imported_from__key=time)
    assert (page.url, page.title, page.http_status, page.mime_type) == (url, title, 200, "text/html")
    assert page.sealed_at == datetime.fromisoformat(started).replace(tzinfo=UTC)
    assert sorted(tag.name for tag in page.tags.all()) == ["fruit", "old"]
    assert Snapshot.objects.filter(url=url).count() == 2, "it was captured again"
    results = {one.plugin: one for one in page.archiveresult_set.all()}
    assert {name for name, one in results.items() if one.status == "succeeded"} >= {
        "wget", "dom", "screenshot", "pdf", "headers", "title", "htmltotext", "imported", "hashes",
    }  # fmt: skip
    assert (results["readability"].status, results["readability"].sentence) == (
        "failed", "[Errno 2] No such file or directory: 'readability-extractor'",
    )  # fmt: skip
    assert set(results["imported"].output_files) == {"index.json", "my notes.txt"}
    gone = ArchiveResult.objects.filter(plugin="pdf", status="failed")
    assert {one.sentence for one in gone} == {"It succeeded, but its files are not there any more."}


@pytest.mark.database
def test_accounts_log_in_as_before_and_settings_have_their_successors(tmp_path: Path) -> None:
    User.objects.create_user("ben", password="mine")
    job = imported(unpack("0.7.4", tmp_path))
    ada, ben = User.objects.get(username="ada"), User.objects.get(username="ben")
    assert ada.check_password("correct horse")
    assert (role_of(ada), ada.email) == (Role.ADMIN, "ada@example.org")
    assert ben.check_password("mine")
    settings = stored_settings()
    assert {name: settings[name] for name in ("PDF_ENABLED", "PUBLIC_INDEX", "URL_DENYLIST")} == {
        "PDF_ENABLED": "false", "PUBLIC_INDEX": "false", "URL_DENYLIST": r"//(.*\.)?ads\.example",
    }  # fmt: skip
    left_out = {one.item: one.reason for one in LeftOutList(job.pk).first(50)}
    assert left_out["account ben"] == "An account of this name is here."


def test_accounts_and_settings_are_left_out_where_pages_alone_are_wanted(tmp_path: Path) -> None:
    imported(unpack("0.7.4", tmp_path), pages_only=True)
    assert not User.objects.filter(username="ada").exists()
    assert "PDF_ENABLED" not in stored_settings()


def test_notes_depth_and_results_of_any_plugin_of_0_9_are_imported(tmp_path: Path) -> None:
    source = unpack("0.9", tmp_path)
    folder = next((source / "archive/users/system/snapshots").glob("*/*/*"))
    for plugin in ("seo", "responses", "hashes"):
        (folder / plugin).mkdir()
        (folder / plugin / "found.json").write_text(plugin)
    with closing(sqlite3.connect(source / "index.sqlite3")) as database:
        database.execute("UPDATE core_snapshot SET notes = 'prune in May', depth = 2")
        for number, (plugin, status) in enumerate((("seo", "succeeded"), ("responses", "failed"), ("a b", "failed"))):
            database.execute(
                "INSERT INTO core_archiveresult SELECT ?, ?, '2026-11-26 09:00:00', end_ts, snapshot_id, created_at,"
                " modified_at, '', 'hook', '{}', NULL, '', 0, 'said ' || ?, ?, NULL, NULL, NULL"
                " FROM core_archiveresult WHERE plugin = 'wget'",
                [f"{number:032x}", status, plugin, plugin],
            )
        database.commit()
    job = imported(source)
    page = Snapshot.objects.get()
    assert ([note.text for note in page.note_set.all()], page.depth) == (["prune in May"], 2)
    assert str(page.imported_from.former_id).replace("-", "") == folder.name
    results = {one.plugin: (one.status, one.output_str, list(one.output_files)) for one in page.archiveresult_set.all()}
    assert results["seo"] == ("succeeded", "said seo", ["found.json"])
    assert results["old_responses"] == ("failed", "said responses", ["found.json"]), "its files have another form here"
    assert page.archiveresult_set.get(plugin="seo").start_ts == datetime(2026, 11, 26, 9, tzinfo=UTC)
    assert "hashes/found.json" in results["imported"][2]
    left_out = {one.item.partition(" ")[0] for one in LeftOutList(job.pk).first(50)}
    assert left_out >= {"crawl", "result"}


def test_schedules_of_0_9_go_on_once(tmp_path: Path) -> None:
    source = unpack("0.9", tmp_path)
    imported(source)
    imported(source)
    schedule = CrawlSchedule.objects.get()
    assert (schedule.schedule, schedule.is_paused) == ("daily", False)
    assert schedule.template["urls"] == ["http://127.0.0.1:8765/medlar.html"]


def test_settings_that_name_programs_or_open_the_collection_are_not_taken(tmp_path: Path) -> None:
    source = unpack("0.7.4", tmp_path)
    (source / "ArchiveBox.conf").write_text("[A]\nCHROME_BINARY = /evil\nPUBLIC_INDEX = True\nTIMEOUT = x\nNONE = 1\n")
    job = imported(source)
    said = {one.item: one.reason for one in LeftOutList(job.pk).first(50) if one.item.startswith("setting")}
    assert said["setting CHROME_BINARY"].startswith("CHROME_BINARY names a program")
    assert said["setting PUBLIC_INDEX"].startswith("PUBLIC_INDEX would open this collection")
    assert said["setting NONE"] == "No setting here corresponds to it."
    assert "setting TIMEOUT" in said
    assert not {"CHROME_BINARY", "PUBLIC_INDEX"} & set(stored_settings())
