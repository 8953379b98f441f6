"""Exports of pages that have bodies in common hold each page whole."""

import gzip
import io
import shutil
import zipfile
from pathlib import Path

import pytest
from fastwarc.warc import ArchiveIterator as FastIterator
from warcio.archiveiterator import ArchiveIterator

from archivebox.base_models.users import system_user
from archivebox.config.settings import DATA_FOLDER
from archivebox.core.models import Snapshot
from archivebox.imports.page import ImportedPage
from archivebox.imports.readers.warc import open_wacz, open_warc
from archivebox.jobs.begin import JobRequest, begin
from archivebox.lib.jsonl import JSON
from archivebox.replay.index import load, opened
from archivebox.storage.shared_files import store_of
from tests import factories
from tests.job_runner import carried_out
from tests.webserver.recording import Page, pack_recording, record

pytestmark = pytest.mark.usefixtures("collection")
URLS = [f"https://{name}.example/" for name in "abc"]
SCRIPT = b"let a = 1; // a library that all pages have\n" * 600


def exported(format: str, folder: Path) -> Path:  # noqa: A002 - the option's name
    """Pages of one owner, each with the same script, in one file."""
    rows = list(factories.crawl(*URLS).snapshot_set.order_by("id"))
    for row in rows:
        html = f"<title>{row.url}</title><script src=/script.js></script>".encode()
        pages = {row.url: Page(html, main=True), f"{row.url}script.js": Page(SCRIPT, "text/javascript")}
        record(row.path, pages)
        pack_recording(row.path, store=store_of(row.path))
    keys = [row.pk for row in rows]
    options: dict[str, JSON] = {"format": format}
    done = carried_out(begin(JobRequest("export", created_by=system_user(), snapshots=keys, options=options)))
    assert (done.done, done.failed) == (3, 0)
    assert done.file
    return Path(shutil.move(done.file, folder))


def recordings(export: Path, folder: Path) -> bytes:
    if export.suffix != ".wacz":
        return export.read_bytes()
    with zipfile.ZipFile(export) as archive:
        archive.extractall(folder)
    index = gzip.decompress((folder / "indexes" / "index.cdx.gz").read_bytes()).decode()
    assert index.count("/script.js ") == 3
    return b"".join(path.read_bytes() for path in sorted((folder / "archive").iterdir()))


@pytest.mark.parametrize("format", ["warc", "wacz"])
def test_an_export_refers_to_nothing(format: str, tmp_path: Path) -> None:  # noqa: A002 - the option's name
    data = recordings(exported(format, tmp_path), tmp_path)
    answers = [one for one in ArchiveIterator(io.BytesIO(data), check_digests="raise") if one.rec_type != "warcinfo"]
    assert {one.rec_type for one in answers} <= {"response", "request"}
    bodies = {
        one.rec_headers.get_header("WARC-Target-URI"): one.content_stream().read()
        for one in ArchiveIterator(io.BytesIO(data))
        if one.rec_type == "response"
    }
    by_fastwarc = [
        one.reader.read() for one in FastIterator(io.BytesIO(data)) if "/script.js" in one.headers["WARC-Target-URI"]
    ]
    assert by_fastwarc.count(SCRIPT) == 3
    assert {url: body for url, body in bodies.items() if url.endswith(".js")} == {f"{u}script.js": SCRIPT for u in URLS}


def test_a_page_alone_is_exported_without_records_of_others(tmp_path: Path) -> None:
    """The stored record names the URL at which its owner first got the body."""
    exported("warc", tmp_path)
    last = Snapshot.objects.get(url=URLS[-1])
    options: dict[str, JSON] = {"format": "warc"}
    done = carried_out(begin(JobRequest("export", created_by=system_user(), snapshots=[last.pk], options=options)))
    assert done.file
    read = [one for one in ArchiveIterator(io.BytesIO(done.file.read_bytes())) if one.rec_type == "response"]
    assert sorted(one.rec_headers.get_header("WARC-Target-URI") for one in read) == [last.url, f"{last.url}script.js"]


def test_a_page_with_a_damaged_body_is_exported_as_far_as_it_is_whole(tmp_path: Path) -> None:
    exported("warc", tmp_path)
    (stored,) = DATA_FOLDER.users.glob("*/.shared/*/*.warc.gz")
    stored.chmod(0o600)
    stored.write_bytes(stored.read_bytes()[:-100])
    last = Snapshot.objects.get(url=URLS[-1])
    options: dict[str, JSON] = {"format": "warc"}
    done = carried_out(begin(JobRequest("export", created_by=system_user(), snapshots=[last.pk], options=options)))
    assert (done.done, done.failed) == (1, 0)
    assert done.file
    read = [one for one in ArchiveIterator(io.BytesIO(done.file.read_bytes())) if one.rec_type != "request"]
    assert last.url in {one.rec_headers.get_header("WARC-Target-URI") for one in read if one.rec_type == "response"}


@pytest.mark.parametrize(("format", "reader"), [("warc", open_warc), ("wacz", open_wacz)])
def test_an_export_is_imported_whole(format: str, reader: object, tmp_path: Path) -> None:  # noqa: A002
    assert callable(reader)
    pages = [page for page in reader(exported(format, tmp_path)).pages() if isinstance(page, ImportedPage)]
    assert {page.url for page in pages} >= set(URLS)
    for number, page in enumerate(page for page in pages if page.url in URLS):
        folder = tmp_path / f"{number}"
        for output in page.outputs:
            (folder / output.plugin).mkdir(parents=True)
            for file in output.files:
                shutil.copy(file.source, folder / output.plugin / file.name)
        found = load(folder).find(f"{page.url}script.js")
        assert found is not None, page.url
        assert found.body is not None
        with opened(folder, found.body) as (_, body):
            assert body.read(1 << 20) == SCRIPT
