"""Importing what was exported brings back the collection: the same rows, and files with the same digests."""

import hashlib
import json
import os
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from archivebox.base_models.users import system_user
from archivebox.base_models.visibility import ViewerScope
from archivebox.config.settings import DATA_FOLDER
from archivebox.core.models import ArchiveResult, Note, Snapshot
from archivebox.core.tags.assign_tags import tag
from archivebox.crawls.models import Crawl
from archivebox.export.collection import page_row
from archivebox.export.pages import pages_of
from archivebox.imports.import_folder import LeftOutList
from archivebox.imports.models import ImportedSnapshot
from archivebox.imports.page import NotReadableError
from archivebox.imports.readers import open_reader
from archivebox.jobs.begin import JobRequest, begin
from archivebox.jobs.inspecting import begin_import
from archivebox.jobs.models import Job
from archivebox.jobs.page_imports import ImportPages
from archivebox.jobs.runner import next_part
from archivebox.lib import jsonl
from tests import factories
from tests.job_runner import carried_out, leased
from tests.status_triggers import arrange

pytestmark = [pytest.mark.usefixtures("collection"), pytest.mark.django_db(transaction=True)]
ODD = os.fsdecode(b"a \xff%41\\b:?.html")


@pytest.fixture
def export(tmp_path: Path) -> Path:
    """That of three pages, two of them of one URL, in two crawls."""
    first = factories.crawl("https://a.example/", "https://b.example/x?y=1", visibility="private")
    second = factories.crawl("https://a.example/", user=User.objects.create_user("alice"))
    Crawl.objects.filter(pk=first.pk).update(label="Fruit, every week", tags_str="fruit")
    for row in Snapshot.objects.all():
        facts = {"title": "Äpfel", "quality": 97, "measures": {"text": 1.0}, "is_lossy": False, "size": 10, "depth": 1}
        dates = {"sealed_at": row.created_at, "bookmarked_at": "2020-01-02T03:04:05.000006Z"}
        Snapshot.objects.filter(pk=row.pk).update(**facts, **dates)
        for name in (f"wget/{ODD}", "wget/deep/index.html", "hashes/hashes.json"):
            (row.path / name).parent.mkdir(parents=True, exist_ok=True)
            words = f"{name.encode(errors='replace')!r} of {row.pk}"
            (row.path / name).write_text(json.dumps({"files": {}, "of": words}))
        size = (row.path / "wget/deep/index.html").stat().st_size
        files = {"deep/index.html": {"size": size, "mimetype": "text/html"}}
        more = {"output_files": files, "output_json": {"a": [1, None]}, "start_ts": row.created_at, "output_size": 9}
        ArchiveResult.objects.create(
            snapshot=row, plugin="wget", hook_name="on_Snapshot__61_wget.py", status="succeeded", **more
        )
        ArchiveResult.objects.create(snapshot=row, plugin="pdf", hook_name=None, status="failed", reason="timeout:5")
        Note.objects.create(snapshot=row, author=system_user(), text="mine")
    tag(list(first.snapshot_set.values_list("pk", flat=True)), ["fruit", "C++"])
    arrange(Snapshot.objects.all(), status="sealed", retry_at=None)
    arrange(Crawl.objects.all(), status="sealed", retry_at=None)
    assert second.snapshot_set.count() == 1
    done = carried_out(
        begin(JobRequest("export", created_by=system_user(), query="", options={"format": "archivebox"}))
    )
    assert (done.done, done.failed) == (3, 0)
    assert done.file
    return Path(shutil.move(done.file, tmp_path / "all.archivebox.zip"))


def empty() -> None:
    """Have the collection without pages, as a new one is."""
    Crawl.objects.all().delete()
    shutil.rmtree(DATA_FOLDER.users)


def imported(path: Path) -> Job:
    return carried_out(begin_import(path, open_reader(path).report(), system_user()))


def rows() -> list[Any]:
    return [
        json.loads(jsonl.text(page_row(page))) for page in pages_of(Snapshot.objects.all(), ViewerScope(is_whole=True))
    ]


def digests() -> dict[str, str]:
    files = (path for path in DATA_FOLDER.users.rglob("*") if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_an_import_of_our_own_export_has_the_same_rows_and_digests(export: Path) -> None:
    kept, content = rows(), digests()
    assert (len(kept), len(content)) == (3, 9)
    empty()
    job = imported(export)
    assert (job.done, job.failed, job.memory["counts"]["left_out"]) == (3, 0, 0)
    assert rows() == kept
    assert digests() == content
    assert not list(DATA_FOLDER.imports.glob("reading-*/*")), "what was unpacked is gone"


def test_an_export_is_imported_once_and_changes_nothing_that_is_there(export: Path) -> None:
    kept, content = rows(), digests()
    assert imported(export).memory["counts"] | {"known": 0} == imported(export).memory["counts"] | {"known": 0}
    assert ImportedSnapshot.objects.count() == 0
    Snapshot.objects.filter(pk=kept[0]["id"]).delete()
    job = imported(export)
    assert (job.memory["counts"]["imported"], job.memory["counts"]["known"]) == (1, 2)
    assert (rows(), digests()) == (kept, content)


def test_an_import_that_was_cut_short_goes_on(export: Path) -> None:
    kept, content = rows(), digests()
    empty()
    job = leased(begin_import(export, open_reader(export).report(), system_user()))
    part, killed = next_part(job), ImportPages(job)
    assert part
    killed.begin_or_resume()
    killed.prepare(part.keys)
    Job.objects.filter(pk=job.pk).update(owner=None)
    assert carried_out(job).done == 3
    assert (rows(), digests()) == (kept, content)


def changed(export: Path, name: str, change: Any) -> Path:
    target = export.with_name("changed.zip")
    with zipfile.ZipFile(export) as source, zipfile.ZipFile(target, "w") as archive:
        for member in source.namelist():
            data = source.read(member)
            archive.writestr(member, change(data) if member.endswith(name) else data)
    return target


def test_a_page_whose_file_was_changed_is_not_imported(export: Path) -> None:
    empty()
    job = imported(changed(export, "deep/index.html", lambda data: data + b"!"))
    assert (job.memory["counts"]["imported"], Snapshot.objects.count()) == (0, 0)
    assert "it was changed since" in LeftOutList(job.pk).first(1)[0].reason
    assert digests() == {}


@pytest.mark.parametrize(
    ("said", "instead"),
    [
        (b'"path":"wget/deep/index.html"', b'"path":"../../deep/index.html"'),
        (b'"visibility":"private"', b'"visibility":"everybody"'),
        (b'"quality":97', b'"quality":-5'),
        (b'"type":"Snapshot","id":"0', b'"type":"Snapshot","id":"x'),
        (b'"url":"https://', b'"url":"javascript://'),
        (b'"output_files":{"deep', b'"output_files":{"x":[],"deep'),
        (b'"output_files":{', b'"output_files":{"x":[],'),
        (b'"output_files":{"deep', b'"output_files":{"../../other/x":{},"deep'),
        (b'"plugin":"wget"', b'"plugin":".."'),
        (b'"hook_name":"on_Snapshot__61_wget.py"', b'"hook_name":"../on_Snapshot__61_wget.py"'),
        (b'"tags":[', b'"tags":5,"x":['),
        (b'"files":[{"path":"', b'"files":[{"path":5,"x":"'),
    ],
)
def test_what_no_export_of_ours_would_say_is_refused_page_by_page(export: Path, said: bytes, instead: bytes) -> None:
    empty()
    path = changed(export, "pages.jsonl", lambda data: data.replace(said, instead))
    job = imported(path)
    assert job.memory["counts"]["left_out"] > 0
    assert Snapshot.objects.count() < 3
    outside = [name for name in digests() if "index.html" in name and "/wget/deep/" not in name]
    assert outside == []


def test_rows_that_contradict_each_other_end_the_import_with_a_sentence(export: Path) -> None:
    """Two pages of one URL in one crawl, which no database of ours has."""
    empty()
    same = b'"url":"https://b.example/x?y=1"'
    path = changed(export, "pages.jsonl", lambda data: data.replace(b'"url":"https://a.example/"', same))
    with pytest.raises(NotReadableError, match="contradict"):
        imported(path)


@pytest.mark.parametrize("said", [b"{", b'{"format":"archivebox-collection","version":2}',
                                  b'{"format":"archivebox-collection","version":1,"pages":"x"}'])  # fmt: skip
def test_a_damaged_export_is_refused_with_a_sentence(export: Path, said: bytes) -> None:
    with pytest.raises(NotReadableError):
        open_reader(changed(export, "archivebox.json", lambda _: said))


def test_pages_of_users_that_are_not_here_are_of_whoever_imports(export: Path) -> None:
    empty()
    User.objects.get(username="alice").delete()
    assert imported(export).done == 3
    assert {row.created_by for row in Snapshot.objects.all()} == {system_user()}
