"""A source is inspected as a job before it is imported; uploaded files arrive in pieces, and go afterwards."""

import os
from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from archivebox.base_models.users import system_user
from archivebox.config.conffile import write_conf
from archivebox.config.settings import DATA_FOLDER
from archivebox.core.models import Snapshot
from archivebox.crawls import control
from archivebox.imports.import_folder import LeftOutList
from archivebox.imports.page import NotReadableError
from archivebox.imports.page_files import Transfer
from archivebox.imports.sources import ImportUpload
from archivebox.jobs import inspecting
from archivebox.jobs.begin import JobRefusedError
from archivebox.jobs.inspecting import ImportChoices, report_of
from archivebox.jobs.models import Job
from archivebox.jobs.runner import end_lease
from archivebox.jobs.storage_upkeep import LASTS, remove_unneeded_uploads
from tests.job_runner import carried_out, leased
from tests.old_collection import make_old_collection
from tests.unit.imports.archives import Said, write_warc

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("collection")]


def uploaded(path: Path, piece: int = 100, user: User | None = None) -> Job:
    """A job whose file has arrived, piece by piece."""
    content = path.read_bytes()
    job = inspecting.expect_upload(path.name, len(content), user or system_user())
    for offset in range(0, len(content), piece):
        assert inspecting.receive(job, offset, content[offset : offset + piece]) == min(offset + piece, len(content))
    return job


def upload_of(job: Job) -> ImportUpload:
    upload = inspecting.upload_of(job)
    assert upload is not None
    return upload


@pytest.fixture
def warc(tmp_path: Path) -> Path:
    path = tmp_path / "some pages.warc"
    write_warc(path, [Said("https://a.example/", b"<title>Apple</title>quince")])
    return path


def test_a_folder_is_read_then_imported_once_with_what_was_chosen(tmp_path: Path) -> None:
    source = make_old_collection(tmp_path / "old")
    job = carried_out(inspecting.inspect_path(str(source), system_user()))
    report = report_of(job)
    assert report is not None
    assert (report.pages, report.files, Snapshot.objects.count()) == (2, 8, 0)
    choices = ImportChoices(Transfer.COPY, "private", whole=True)
    done = carried_out(inspecting.start(job, system_user(), choices))
    assert (done.done, done.failed, done.options["all"]) == (2, 0, True)
    assert set(Snapshot.objects.values_list("visibility", flat=True)) == {"private"}
    with pytest.raises(JobRefusedError, match="begun already"):
        inspecting.start(job, system_user(), choices)
    assert Job.objects.count() == 2


def test_what_is_left_out_is_listed_before_anything_is_imported(tmp_path: Path) -> None:
    source = make_old_collection(tmp_path / "old")
    (source / "stray").mkdir()
    job = carried_out(inspecting.inspect_path(str(source), system_user()))
    assert job.memory["report"]["left_out"] == 1
    assert [(one.item, one.reason) for one in LeftOutList(job.pk).first(9)] == [("stray", "It is of no page.")]


def test_what_cannot_be_read_ends_with_its_sentence(tmp_path: Path) -> None:
    job = inspecting.inspect_path(str(tmp_path), system_user())
    with pytest.raises(NotReadableError, match="is nothing that can be imported"):
        carried_out(job)


def test_an_uploaded_file_is_imported_under_its_name_and_then_removed(warc: Path) -> None:
    job = carried_out(uploaded(warc))
    assert upload_of(job).received == warc.stat().st_size
    importing = inspecting.start(job, system_user(), ImportChoices(Transfer.MOVE))
    assert (importing.options["transfer"], upload_of(job).path.exists()) == ("copy", True)
    done = carried_out(importing)
    page = Snapshot.objects.get()
    assert (done.done, page.title, page.crawl.label) == (1, "Apple", "Import of some pages.warc")
    assert not upload_of(job).folder.exists()


def test_pieces_may_be_sent_twice_but_not_more_than_announced(warc: Path) -> None:
    content = warc.read_bytes()
    job = inspecting.expect_upload("a.warc", len(content), system_user())
    assert inspecting.receive(job, 0, content[:50]) == 50
    assert inspecting.receive(job, 0, content[:50]) == 50  # its first answer was lost
    assert inspecting.receive(job, 60, content[60:]) == 50  # a piece is missing
    assert inspecting.is_uploading(job)
    with pytest.raises(NotReadableError, match="larger than announced"):
        inspecting.receive(job, 50, content)
    assert inspecting.receive(job, 50, content[50:]) == len(content)
    job.refresh_from_db()
    assert (job.status, upload_of(job).path.read_bytes()) == ("queued", content)
    with pytest.raises(FileNotFoundError):
        inspecting.receive(job, 0, b"")


def test_a_file_that_is_not_whole_is_not_read(warc: Path) -> None:
    job = inspecting.expect_upload(warc.name, warc.stat().st_size, system_user())
    assert control.resume(job)  # by `archivebox job resume`
    with pytest.raises(NotReadableError, match="has not arrived as a whole"):
        carried_out(job)


def test_a_message_names_a_file_as_who_sent_it_does(tmp_path: Path) -> None:
    (tmp_path / "no archive.bin").write_bytes(b"\0" * 10)
    with pytest.raises(NotReadableError, match=r"^no archive.bin is nothing that can be imported\.$"):
        carried_out(uploaded(tmp_path / "no archive.bin"))


@pytest.mark.parametrize("step", ["arriving", "read", "imported"])
def test_an_uploaded_file_goes_when_it_is_cancelled_or_discarded(warc: Path, step: str) -> None:
    job = inspecting.expect_upload(warc.name, 9, system_user()) if step == "arriving" else carried_out(uploaded(warc))
    folder = upload_of(job).folder
    assert folder.is_dir()
    if step == "imported":
        importing = inspecting.start(job, system_user(), ImportChoices())
        assert not inspecting.discard(job)
        control.cancel(importing)
    else:
        assert inspecting.discard(job)
    assert not folder.exists()


def test_cancelling_an_upload_removes_what_has_arrived(warc: Path) -> None:
    job = inspecting.expect_upload(warc.name, 9, system_user())
    assert control.cancel(job)
    assert not upload_of(job).folder.exists()


def test_files_that_nobody_needs_any_more_are_removed_after_days(warc: Path) -> None:
    undecided, old, lost = carried_out(uploaded(warc)), carried_out(uploaded(warc)), uploaded(warc)
    paused = carried_out(uploaded(warc))
    control.pause(inspecting.start(paused, system_user(), ImportChoices()))
    Job.objects.filter(pk__in=[old.pk, paused.pk]).update(modified_at=timezone.now() - LASTS - timedelta(hours=1))
    Job.objects.filter(pk=lost.pk).delete()
    jobs = (undecided, old, lost, paused)
    (DATA_FOLDER.uploads / "lost+found").mkdir(exist_ok=True)
    remove_unneeded_uploads()
    assert all(upload_of(job).folder.is_dir() for job in jobs)  # all of them are new
    for job in jobs:
        os.utime(upload_of(job).folder, (0, 0))
    remove_unneeded_uploads()
    assert [upload_of(job).folder.is_dir() for job in jobs] == [True, False, False, True]


def test_one_account_has_so_many_files_waiting_and_none_too_large(warc: Path) -> None:
    for _ in range(inspecting.MOST_UPLOADS):
        inspecting.expect_upload(warc.name, 9, system_user())
    with pytest.raises(NotReadableError, match="Import or discard one"):
        inspecting.expect_upload(warc.name, 9, system_user())
    write_conf(DATA_FOLDER.conf, {"IMPORT_UPLOAD_MAX": "1000"})
    other = User.objects.create_user("other")
    for length, words in ((0, "is empty"), (1001, "at most 1.0 kB")):
        with pytest.raises(NotReadableError, match=words):
            inspecting.expect_upload(warc.name, length, other)
    assert len(list(DATA_FOLDER.uploads.iterdir())) == inspecting.MOST_UPLOADS


def test_a_path_that_leads_into_the_collection_meanwhile_is_refused(tmp_path: Path) -> None:
    source = make_old_collection(tmp_path / "old")
    job = carried_out(inspecting.inspect_path(str(source), system_user()))
    waiting = inspecting.inspect_path(str(source), system_user())
    source.rename(tmp_path / "elsewhere")
    source.symlink_to(DATA_FOLDER.root)
    with pytest.raises(JobRefusedError, match="is part of this collection"):
        inspecting.start(job, system_user(), ImportChoices())
    with pytest.raises(NotReadableError, match="is part of this collection"):
        carried_out(waiting)


def test_a_path_that_became_a_link_is_not_imported(tmp_path: Path) -> None:
    source = make_old_collection(tmp_path / "old")
    job = carried_out(inspecting.inspect_path(str(source), system_user()))
    importing = inspecting.start(job, system_user(), ImportChoices())
    source.rename(tmp_path / "elsewhere")
    source.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(NotReadableError, match="a symbolic link has changed"):
        carried_out(importing)


def test_a_file_stays_while_its_import_is_paused_and_goes_when_that_has_ended(warc: Path) -> None:
    job = carried_out(uploaded(warc))
    importing = leased(inspecting.start(job, system_user(), ImportChoices()))
    end_lease(importing, "pause", problem="The disk is full.")  # as a worker does
    remove_unneeded_uploads()
    assert upload_of(job).path.exists()
    importing.refresh_from_db()
    assert control.resume(importing)
    done = carried_out(importing)
    assert (done.done, done.problem) == (1, "")
    assert not upload_of(job).folder.exists()
