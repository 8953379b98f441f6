"""An export holds each of its pages once, in each format, whoever dies when."""

import csv
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import zipfile
from pathlib import Path
from uuid import UUID

import pytest
from django.contrib.auth.models import User

from archivebox.base_models.users import system_user
from archivebox.config.settings import DATA_FOLDER
from archivebox.core.models import ArchiveResult, Snapshot
from archivebox.core.tags.assign_tags import tag
from archivebox.export import wacz
from archivebox.export.formats import FORMATS
from archivebox.export.writer import PartFiles
from archivebox.export.zip_parts import DIRECTORY, end_zip, zip_part
from archivebox.jobs.action import DeferredError
from archivebox.jobs.actions import ACTIONS
from archivebox.jobs.begin import JobRequest, begin
from archivebox.jobs.models import Job
from archivebox.jobs.runner import end_lease, next_part, write_part
from archivebox.lib.links import pages
from tests import factories
from tests.job_runner import carried_out, leased

pytestmark = pytest.mark.usefixtures("collection")
URLS = [f"https://{name}.example/" for name in "abcde"]
Keys = list[UUID]


@pytest.fixture
def keys() -> Keys:
    return archived(*URLS)


def archived(*urls: str) -> Keys:
    """Pages, each with a file of five bytes and a WARC."""
    rows = list(factories.crawl(*urls).snapshot_set.order_by("id"))
    for row in rows:
        (row.path / "wget").mkdir(parents=True)
        (row.path / "wget" / "index.html").write_text(row.url[8:13])
        (row.path / "wget" / "all.warc.gz").write_bytes(recorded(row.url))
        files = {"index.html": {"size": 5, "mimetype": "text/html"}, "all.warc.gz": {"size": 5}}
        ArchiveResult.objects.create(
            snapshot=row, plugin="wget", status="succeeded", output_files=files, output_size=10
        )
    return [row.pk for row in rows]


def recorded(url: str) -> bytes:
    """An answer to GET, and one to POST with its request."""
    answer, request = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>", b"POST / HTTP/1.1\r\n\r\n"
    return b"".join(
        gzip.compress(record, mtime=0)
        for record in (
            record_of("warcinfo", "<urn:1>", url, b"software: none"),
            record_of("response", "<urn:2>", url, answer),
            record_of("response", "<urn:3>", f"{url}posted", answer),
            record_of("request", "<urn:4>", f"{url}posted", request, also="WARC-Concurrent-To: <urn:3>\r\n"),
        )
    )


def record_of(kind: str, key: str, url: str, block: bytes, also: str = "") -> bytes:
    media_type = "application/warc-fields" if kind == "warcinfo" else f"application/http; msgtype={kind}"
    head = f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: {key}\r\nWARC-Target-URI: {url}\r\n{also}"
    head += f"WARC-Date: 2026-01-02T03:04:05Z\r\nContent-Type: {media_type}\r\nContent-Length: {len(block)}\r\n\r\n"
    return head.encode() + block + b"\r\n\r\n"


def request_of(keys: Keys, format: str) -> JobRequest:  # noqa: A002 - the option's name
    return JobRequest("export", created_by=system_user(), snapshots=keys, options={"format": format})


def exported(keys: Keys, format: str) -> Path:  # noqa: A002 - the option's name
    done = carried_out(begin(request_of(keys, format)))
    assert (done.done, done.failed) == (5, 0)
    assert done.file
    return done.file


def test_exports_hold_each_page_once(keys: Keys) -> None:
    records = [json.loads(line) for line in exported(keys, "jsonl").read_text().splitlines()]
    assert sorted(record["url"] for record in records) == URLS
    assert records[0]["results"][0]["files"] == {"index.html": 5, "all.warc.gz": 5}
    table = list(csv.DictReader(io.StringIO(exported(keys, "csv").read_text(), newline="")))
    assert sorted(line["url"] for line in table) == URLS
    assert {line["bytes"] for line in table} == {"10"}
    assert exported(keys, "warc").read_bytes() == b"".join(map(recorded, reversed(URLS)))
    (Snapshot.objects.get(url=URLS[0]).path / "wget" / os.fsdecode(b"..\\a\xff")).touch()
    with zipfile.ZipFile(exported(keys, "zip")) as archive:
        assert archive.testzip() is None
        assert any(name.endswith("/wget/.._a\ufffd") for name in archive.namelist()), "whatever a site calls its files"
        assert sum(name.endswith("/wget/index.html") for name in archive.namelist()) == 5
        listed = archive.read("index.html").decode()
        assert (listed.startswith("<!doctype html>"), listed.count("<li>")) == (True, 5)


@pytest.mark.parametrize("format", FORMATS)
def test_an_export_has_only_what_its_requester_sees(format: str) -> None:  # noqa: A002 - the option's name
    """One page was hidden from them before, one after it was decided which are in it."""
    keys = archived("https://shown.example/", "https://unseen.example/", "https://changed.example/")
    Snapshot.objects.filter(pk__in=keys).update(visibility="members", title="Anything")
    Snapshot.objects.filter(pk=keys[1]).update(visibility="private")
    reader = User.objects.create_user("reader")
    job = begin(JobRequest("export", created_by=reader, query="", options={"format": format}))
    done = carried_out(job)
    assert (done.done, done.total) == (2, 2)
    assert b"unseen" not in whole_of(done.file), "not as a URL of its crawl, either"
    chosen = [keys[0], keys[2]]
    job = leased(begin(JobRequest("export", created_by=reader, snapshots=chosen, options={"format": format})))
    Snapshot.objects.filter(pk=keys[2]).update(visibility="private")
    Job.objects.filter(pk=job.pk).update(owner=None)
    done = carried_out(job)
    assert (done.done, done.failed) == (1, 1)
    assert b"shown.example" in whole_of(done.file)
    assert b"changed.example" not in whole_of(done.file)


def whole_of(path: Path | None) -> bytes:
    """All that can be read in a file, packed or not."""
    assert path
    if not zipfile.is_zipfile(path):
        return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        found = [name.encode() + archive.read(name) for name in archive.namelist()]
    return b"".join(found)


def test_an_export_of_nothing_leaves_no_file(keys: Keys) -> None:
    shutil.rmtree(DATA_FOLDER.exports, ignore_errors=True)
    for snapshot in Snapshot.objects.all():
        (snapshot.path / "wget" / "all.warc.gz").unlink()
    done = carried_out(begin(request_of(keys, "warc")))
    assert (done.done, done.failed, done.file) == (0, 5, None)
    assert not any(DATA_FOLDER.exports.iterdir())


@pytest.mark.parametrize("format", FORMATS)
def test_an_export_goes_on_behind_what_was_whole(format: str) -> None:  # noqa: A002 - the option's name
    """Workers died in the second part, and at the end before it was on record: the file is as if none had."""
    keys = archived(*(f"https://{number}.example/" for number in range(12)))
    unbroken, job = carried_out(begin(request_of(keys, format))).file, leased(begin(request_of(keys, format)))
    for is_on_record in (True, False, True):
        action, part = ACTIONS["export"](job), next_part(job)
        assert part
        assert action.begin_or_resume()
        action.prepare(part.keys)
        if is_on_record:
            known = write_part(job, action, part)
            assert known
            job = known
        action.close()
    end = FORMATS[format].writer((DATA_FOLDER.exports / f"{job.pk}{FORMATS[format].suffix}").with_suffix(".part"))
    end.files.truncate_to(job.memory["lengths"])
    end.finish()
    end.close()
    Job.objects.filter(pk=job.pk).update(owner=None)
    done = carried_out(job)
    assert (done.done, done.failed) == (12, 0)
    assert done.file
    assert unbroken
    assert content(done.file) == content(unbroken)


def content(path: Path) -> object:
    """All that is in a file, but for when it was made."""
    if not zipfile.is_zipfile(path):
        return path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist() if not name.startswith("datapackage")}


def test_what_an_export_has_lost_is_written_anew(keys: Keys) -> None:
    job = leased(begin(request_of(keys, "zip")))
    action, part = ACTIONS["export"](job), next_part(job)
    assert part
    action.begin_or_resume()
    action.prepare(part.keys)
    assert write_part(job, action, part)
    for path in DATA_FOLDER.exports.glob(f"{job.pk}.*"):
        path.unlink()
    Job.objects.filter(pk=job.pk).update(owner=None)
    done = carried_out(job)
    assert (done.done, done.failed) == (5, 0)
    assert done.file
    assert sum(name.endswith("page.json") for name in zipfile.ZipFile(done.file).namelist()) == 5


def test_an_export_waits_for_a_process_that_still_writes(keys: Keys) -> None:
    """Its lease ran out while it stood still; it may wake up within a part."""
    job = leased(begin(request_of(keys, "zip")))
    late, part = ACTIONS["export"](job), next_part(job)
    assert part
    late.begin_or_resume()
    late.prepare(part.keys)
    with pytest.raises(DeferredError):
        ACTIONS["export"](job).begin_or_resume()
    late.close()
    Job.objects.filter(pk=job.pk).update(owner=None)
    assert carried_out(job).done == 5


def test_a_zip_takes_files_of_any_time_and_hosts_of_any_length(keys: Keys) -> None:
    one = Snapshot.objects.get(pk=keys[0])
    Snapshot.objects.filter(pk=one.pk).update(domain="a" * 240)
    os.utime(one.path / "wget" / "index.html", (0, 7_258_118_400))  # 2200, as a server may say of its files
    os.utime(one.path / "wget" / "all.warc.gz", (0, -86_400))
    with zipfile.ZipFile(exported(keys, "zip")) as archive:
        names = [name for name in archive.namelist() if "-aaa" in name]
        assert [archive.getinfo(name).date_time[0] for name in names[:2]] == [1980, 2107]
        assert max(len(name.partition("/")[0]) for name in names) < 130


def test_of_a_file_that_grows_a_zip_has_what_there_was(tmp_path: Path) -> None:
    class Growing(io.BytesIO):
        """Longer after each look at it."""

        def read(self, size: int | None = -1) -> bytes:
            data, position = super().read(size), self.tell()
            self.seek(0, os.SEEK_END)
            self.write(b"more")
            self.seek(position)
            return data

    files = PartFiles(tmp_path / "whole.zip", DIRECTORY)
    with zip_part(files) as part:
        assert part.add(Growing(b"first"), "one").size == 5
    end_zip(files)
    files.close()
    assert zipfile.ZipFile(tmp_path / "whole.zip").read("one") == b"first"


def test_a_wacz_is_as_its_specification_says(keys: Keys) -> None:
    """WACZ 1.1.1, 4 and 5: what is in it, each with its SHA-256, recordings and indexes as they are."""
    Snapshot.objects.filter(pk=keys[0]).update(depth=1)
    with zipfile.ZipFile(exported(keys, "wacz")) as archive:
        names, read = set(archive.namelist()), archive.read
        package, digest = json.loads(read("datapackage.json")), json.loads(read("datapackage-digest.json"))
        assert digest == {"path": "datapackage.json", "hash": sha256_of(read("datapackage.json"))}
        assert (package["profile"], package["wacz_version"]) == ("data-package", "1.1.1")
        listed = {one["path"]: one for one in package["resources"]}
        assert set(listed) == names - {"datapackage.json", "datapackage-digest.json"}
        for path, one in listed.items():
            assert (one["hash"], one["bytes"]) == (sha256_of(read(path)), len(read(path)))
        stored = {name for name in names if archive.getinfo(name).compress_type == zipfile.ZIP_STORED}
        assert {name for name in names if name.startswith(("archive/", "indexes/"))} <= stored
        pages = [json.loads(line) for line in read("pages/pages.jsonl").splitlines()]
        assert (pages[0]["format"], [page["url"] for page in pages[1:]]) == ("json-pages-1.0", URLS[:0:-1])
        assert [json.loads(line).get("url") for line in read("pages/extraPages.jsonl").splitlines()] == [None, URLS[0]]
        lines = gzip.decompress(read("indexes/index.cdx.gz")).decode().splitlines()
        assert lines == sorted(lines)
        assert [json.loads(line.split(" ", 2)[2])["url"] for line in lines] == URLS, "what POST got is no page"
        for line in lines:
            about = json.loads(line.split(" ", 2)[2])
            data = read(f"archive/{about['filename']}")
            begin_at, length = int(about["offset"]), int(about["length"])
            assert f"WARC-Target-URI: {about['url']}\r\n".encode() in gzip.decompress(data[begin_at:][:length])


def test_a_page_in_a_wacz_has_the_time_of_its_record(keys: Keys) -> None:
    with zipfile.ZipFile(exported(keys, "wacz")) as archive:
        pages = [json.loads(line) for line in archive.read("pages/pages.jsonl").splitlines()][1:]
        lines = gzip.decompress(archive.read("indexes/index.cdx.gz")).decode().splitlines()
    moments = {json.loads(about)["url"]: moment for _, moment, about in (line.split(" ", 2) for line in lines)}
    assert {page["url"]: re.sub(r"\D", "", page["ts"])[:14] for page in pages} == moments


def sha256_of(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def test_an_index_is_sorted_in_blocks_that_are_packed_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"com,example)/{number:05} 20260102030405 {{}}\n".encode() for number in range(7_000)]
    files = PartFiles(tmp_path / "whole", "lines", "packed", "blocks")
    files["lines"].write(b"".join(reversed(lines)))
    lost = tmp_path / "lost"
    lost.mkdir()
    monkeypatch.chdir(lost)
    lost.rmdir()  # what does not fit into memory lies beside the files
    wacz.write_index(files["lines"], files["packed"], files["blocks"])
    files.close()
    listed = (tmp_path / "whole.blocks").read_text().splitlines()[1:]
    found = []
    for line in listed:
        key, moment, about = line.split(" ", 2)
        place = json.loads(about)
        data = (tmp_path / "whole.packed").read_bytes()[place["offset"] :][: place["length"]]
        assert place["digest"] == sha256_of(data)
        found += gzip.decompress(data).splitlines(keepends=True)
        assert f"{key} {moment} ".encode() in gzip.decompress(data).splitlines()[0]
    assert (len(listed), found) == (3, lines)


def test_bookmarks_are_read_again_with_their_dates_and_tags(keys: Keys) -> None:
    Snapshot.objects.filter(pk=keys[0]).update(title='<b>"A" & B</b>', bookmarked_at="2020-02-03T04:05:06Z")
    tag(keys[:1], ["two words", "fruit"])
    with exported(keys, "bookmarks").open("rb") as file:
        read = {link.url: link for link in pages.read_bookmarks(file)}
    assert sorted(read) == URLS
    one = read[URLS[0]]
    assert (one.title, sorted(one.tags), one.date) == (
        '<b>"A" & B</b>',
        ["fruit", "two words"],
        "2020-02-03T04:05:06+00:00",
    )
    page = exported(keys, "html").read_text()
    assert f'<a dir="auto" href="{URLS[0]}" rel="noreferrer">&lt;b&gt;&quot;A&quot; &amp; B&lt;/b&gt;</a>' in page
    assert page.count("<li>") == 5


def test_a_link_out_of_the_folder_is_not_followed(keys: Keys, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    file = Snapshot.objects.get(pk=keys[0]).path / "wget" / "index.html"
    file.unlink()
    file.symlink_to(tmp_path / "secret")
    with zipfile.ZipFile(exported(keys, "zip")) as archive:
        assert sum(name.endswith("/wget/index.html") for name in archive.namelist()) == 4


@pytest.mark.parametrize("end", ["cancel", "seal"])
def test_what_an_export_that_comes_to_nothing_has_written_goes_with_it(
    keys: Keys, end: str, django_capture_on_commit_callbacks: object
) -> None:
    job = leased(begin(request_of(keys, "zip")))
    action, part = ACTIONS["export"](job), next_part(job)
    assert part
    action.begin_or_resume()
    action.prepare(part.keys)
    action.close()
    written = list(DATA_FOLDER.exports.glob(f"{job.pk}.*"))
    assert written
    with django_capture_on_commit_callbacks(execute=True):  # type: ignore[operator]
        end_lease(job, end, **({"problem": "No space left on device"} if end == "seal" else {}))
    assert not any(map(Path.exists, written))
