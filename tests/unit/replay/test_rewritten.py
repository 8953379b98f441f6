"""Large documents are rewritten once, in a process with limits, and serve everybody who looks at them."""

import os
from pathlib import Path

import pytest

from archivebox.lib import module_process
from archivebox.replay import rewritten
from archivebox.replay.addresses import ReplayContext
from archivebox.replay.copies import linked_copy, xml_copy
from archivebox.replay.files import NotThereError, open_beneath
from archivebox.replay.index import load
from archivebox.replay.recorded import RecordedRequest, Reply, reply_to
from archivebox.replay.rewriting.document import Document, DocumentKind
from archivebox.replay.rewriting.template import RewrittenTemplate, fill
from archivebox.replay.rewritten import LargeDocumentError
from archivebox.storage.layout import DataFolder
from tests.webserver.recording import Page, pack_recording, record

pytestmark = pytest.mark.slow

URL = "http://a.example/"
MOMENT = "20261122090000"
PLACE = ReplayContext("11.22.a.public.sig_-nature", "http://127.0.0.1:8000", MOMENT)
OTHER = ReplayContext("33", "https://archive.example/below", MOMENT)
LINE = (
    b'<p><a href="/next">Next</a> <img src="p.png" style="background:url(q.png)"> <a href="http://b.example/">B</a>\n'
)
PAGE = (
    b'<!doctype html><meta charset=utf-8><meta http-equiv=refresh content="0; url=/next"><title>L</title>' + LINE * 3000
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    snapshot = tmp_path / "snapshot"
    record(
        snapshot, {URL: Page(PAGE), f"{URL}next": Page(b"<p>next"), f"{URL}s.css": Page(b"a{} " * 200_000, "text/css")}
    )
    pack_recording(snapshot)
    return snapshot


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A line for each process that rewrites."""
    started: list[str] = []
    run = module_process.run_limited

    def counted(module: str, sent: bytes, files: list[int]) -> bytes:
        started.append(module)
        return run(module, sent, files)

    monkeypatch.setattr(module_process, "run_limited", counted)
    return started


def body_of(reply: Reply, step: int = 10_000) -> bytes:
    try:
        return b"".join(iter(lambda: reply.read(step), b""))
    finally:
        reply.close()


def directly(folder: Path, place: ReplayContext) -> bytes:
    return Document(DocumentKind.HTML, "text/html", str(folder), URL, place, scripts=False).rewrite(PAGE)


def test_it_is_made_once_and_is_for_each_viewer_what_it_would_be(folder: Path, processes: list[str]) -> None:
    with pytest.raises(LargeDocumentError):
        reply_to(folder, RecordedRequest(PLACE, URL))
    for place in (PLACE, OTHER):
        reply = reply_to(folder, RecordedRequest(place, URL), apart=True)
        assert (reply.status, reply.mimetype, reply.is_clean) == (200, "text/html; charset=utf-8", True)
        assert reply.size == len(directly(folder, place))
        assert body_of(reply) == directly(folder, place)
    assert body_of(reply_to(folder, RecordedRequest(PLACE, URL))) == directly(folder, PLACE), "it is there now"
    assert len(processes) == 1


@pytest.mark.parametrize("step", [7, 64 * 1024, 1 << 22])
def test_words_are_filled_in_wherever_a_file_is_read_in_two(folder: Path, tmp_path: Path, step: int) -> None:
    small = PAGE[:2000] if step < 64 else PAGE
    file = tmp_path / "made"
    document = Document(DocumentKind.HTML, "text/html", str(folder), URL, PLACE, scripts=False)
    with file.open("wb") as output:
        RewrittenTemplate(document).write(small, output)
    with file.open("rb") as made:
        filled = fill(made, OTHER)
        body = b"".join(iter(lambda: filled.read(step), b""))
    assert len(body) == filled.size
    other = Document(DocumentKind.HTML, "text/html", str(folder), URL, OTHER, scripts=False)
    assert body == other.rewrite(small)


def test_no_viewers_word_is_kept(folder: Path, kept: Path) -> None:
    body_of(reply_to(folder, RecordedRequest(PLACE, URL), apart=True))
    (file,) = kept.iterdir()
    assert b"sig_-nature" not in file.read_bytes()
    assert b"127.0.0.1" not in file.read_bytes()
    assert file.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("app", ['http://a"b', "http://a<b>", "http://a'b"])
def test_an_address_that_html_would_write_otherwise_is_not_filled_in(folder: Path, app: str) -> None:
    with pytest.raises(NotThereError):
        reply_to(folder, RecordedRequest(ReplayContext("11", app, MOMENT), URL), apart=True)


def test_what_is_lost_or_changed_is_made_again(folder: Path, kept: Path, processes: list[str]) -> None:
    body_of(reply_to(folder, RecordedRequest(PLACE, URL), apart=True))
    for file in kept.iterdir():
        file.unlink()
    body_of(reply_to(folder, RecordedRequest(PLACE, URL), apart=True))
    log = folder / "responses" / "index.jsonl"
    os.utime(log, ns=(0, 0))  # another resource may be there now
    body_of(reply_to(folder, RecordedRequest(PLACE, URL), apart=True))
    body_of(reply_to(folder, RecordedRequest(ReplayContext("11", "http://a", "20270101000000"), URL), apart=True))
    assert len(processes) == 4


@pytest.mark.parametrize("share", [0, 0.5, 0.999])
def test_what_a_power_failure_left_of_it_is_made_again(folder: Path, kept: Path, share: float) -> None:
    body_of(reply_to(folder, RecordedRequest(PLACE, URL), apart=True))
    (file,) = kept.iterdir()
    os.truncate(file, int(file.stat().st_size * share))
    with pytest.raises(LargeDocumentError):
        reply_to(folder, RecordedRequest(PLACE, URL))
    assert body_of(reply_to(folder, RecordedRequest(PLACE, URL), apart=True)) == directly(folder, PLACE)


def test_no_more_is_kept_than_may_be(folder: Path, kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body_of(reply_to(folder, RecordedRequest(PLACE, URL), apart=True))
    (first,) = kept.iterdir()
    monkeypatch.setattr(rewritten, "MOST", first.stat().st_size + 1000)
    body_of(reply_to(folder, RecordedRequest(PLACE, f"{URL}s.css"), apart=True))
    (second,) = kept.iterdir()
    assert second != first, "the one that was not looked at for longest has gone"


def test_without_a_place_to_keep_it_it_is_shown_all_the_same(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(rewritten, "DATA_FOLDER", DataFolder(tmp_path / "file"))
    assert body_of(reply_to(folder, RecordedRequest(PLACE, URL), apart=True)) == directly(folder, PLACE)


def test_a_page_that_takes_too_much_is_shown_as_its_source_and_tried_once(tmp_path: Path, processes: list[str]) -> None:
    tangled = "".join(f"<p><b id={number}></p>" for number in range(8_000)).encode()
    record(tmp_path / "tangled", {URL: Page(tangled)})
    for _ in range(2):
        reply = reply_to(tmp_path / "tangled", RecordedRequest(PLACE, URL), apart=True)
        assert (reply.mimetype, reply.is_clean) == ("text/plain; charset=utf-8", False)
        assert body_of(reply) == tangled
    assert len(processes) == 2, "the page, and its source"
    assert load(tmp_path / "tangled").find(URL) is not None


@pytest.fixture
def copies(tmp_path: Path) -> Path:
    (tmp_path / "copy.html").write_bytes(PAGE)
    (tmp_path / "list.xml").write_bytes(b'<?xml version="1.0"?><a>' + b"<b>x</b>" * 50_000 + b"</a>")
    return tmp_path


def test_copies_are_kept_too_and_large_xml_is_its_source(copies: Path, processes: list[str]) -> None:
    for _ in range(2):
        opened = open_beneath(copies, ["copy.html"])
        body = body_of(linked_copy(opened, PLACE, scripts=False, apart=True))
        os.close(opened.descriptor)
        assert b'href="http://127.0.0.1:8000/web/follow/20261122090000/http://b.example/"' in body
        assert b'href="/next"' in body, "what leads to its own host stays as it is"
    opened = open_beneath(copies, ["list.xml"])
    reply = xml_copy(opened, PLACE, apart=True)
    assert (reply.mimetype, body_of(reply)) == ("text/plain; charset=utf-8", (copies / "list.xml").read_bytes())
    os.close(opened.descriptor)
    assert len(processes) == 2
