"""Documents, styles and scripts are shown in the charset and as the type that the browser took them for."""

import json
from pathlib import Path

import pytest

from archivebox.replay.addresses import ReplayContext
from archivebox.replay.recorded import RecordedRequest, Reply, reply_to
from tests.webserver.recording import Page, record

PLACE = ReplayContext("token", "http://127.0.0.1:8000", "20261122090000")
URL = "http://a.example/"
WORD = "Съешь"
CP1251 = WORD.encode("windows-1251")
LINK = b'<p><a href="http://b.example/">There</a>'
LED = b'href="http://127.0.0.1:8000/web/follow/20261122090000/http://b.example/"'


def shown(folder: Path, path: str = "") -> tuple[Reply, bytes]:
    reply = reply_to(folder, RecordedRequest(PLACE, URL + path))
    try:
        return reply, b"".join(iter(lambda: reply.read(1000), b""))
    finally:
        reply.close()


def note(folder: Path, path: str, mime: str, charset: str) -> None:
    """What the browser took a document for."""
    with (folder / "responses" / "documents.jsonl").open("a") as file:
        file.write(json.dumps({"url": URL + path, "mime": mime, "charset": charset}) + "\n")


def page_of(type_: str = "text/html", head: bytes = b"") -> dict[str, Page]:
    """A page in windows-1251 with styles and a script in it."""
    style = CP1251.join([b'i::before { content: "', b'" }'])
    return {
        URL: Page(head + b"<title>" + CP1251 + b"</title>", type_, loaded_as="Document", main=True),
        f"{URL}own.css": Page(style, "text/css", loaded_as="Stylesheet", initiator=URL),
        f"{URL}below.css": Page(style, "text/css", loaded_as="Stylesheet", initiator=f"{URL}own.css"),
        f"{URL}named.css": Page(b'@charset "koi8-r";' + WORD.encode("koi8-r"), "text/css", loaded_as="Stylesheet"),
        f"{URL}sent.css": Page(WORD.encode(), "text/css; charset=utf-8", loaded_as="Stylesheet", initiator=URL),
        f"{URL}own.js": Page(CP1251, "text/javascript", loaded_as="Script", initiator=URL),
        f"{URL}lost.js": Page(CP1251, "text/plain", loaded_as="Script"),
        f"{URL}sent.js": Page(WORD.encode(), "text/javascript; charset=utf-8", loaded_as="Script", initiator=URL),
    }


def assert_all_is_read_right(folder: Path) -> None:
    assert f"<title>{WORD}</title>".encode() in shown(folder)[1]
    for path in ("own.css", "below.css", "named.css", "sent.css"):
        assert WORD.encode() in shown(folder, path)[1], path
    for path, charset in (("own.js", "windows-1251"), ("lost.js", "windows-1251"), ("sent.js", "utf-8")):
        reply, body = shown(folder, path)
        assert reply.mimetype.lower() == f"text/javascript; charset={charset}"
        assert body.decode(charset) == WORD


def test_what_the_browser_decided_is_how_a_page_is_read(tmp_path: Path) -> None:
    record(tmp_path, page_of("text/html"))
    note(tmp_path, "", "text/html", "windows-1251")
    assert_all_is_read_right(tmp_path)


@pytest.mark.parametrize(
    ("type_", "head"),
    [("text/html; charset=windows-1251", b""), ("text/html", b"<!-- x --><meta charset=windows-1251>")],
)
def test_without_it_a_header_or_the_document_says_so(tmp_path: Path, type_: str, head: bytes) -> None:
    record(tmp_path, page_of(type_, head))
    assert_all_is_read_right(tmp_path)


def test_what_an_element_says_of_a_file_is_how_that_is_read(tmp_path: Path) -> None:
    pages = page_of()
    elements = b"""<base href='/'><script src=own.js charset=koi8-r></script>
        <link rel=stylesheet href='own.css' charset='KOI8-R'>"""
    pages[URL] = Page(
        elements + b"<script>'<script src=sent.js charset=koi8-r>'</script>", loaded_as="Document", main=True
    )
    pages[f"{URL}own.js"] = Page(WORD.encode("koi8-r"), "text/javascript", loaded_as="Script", initiator=URL)
    style = b'i::before { content: "' + WORD.encode("koi8-r") + b'" }'
    pages[f"{URL}own.css"] = Page(style, "text/css", loaded_as="Stylesheet", initiator=URL)
    record(tmp_path, pages)
    note(tmp_path, "", "text/html", "windows-1251")
    assert shown(tmp_path, "own.js")[0].mimetype == "text/javascript; charset=koi8-r"
    assert WORD.encode() in shown(tmp_path, "own.css")[1]
    assert shown(tmp_path, "lost.js")[0].mimetype == "text/javascript; charset=windows-1251"
    assert shown(tmp_path, "sent.js")[0].mimetype == "text/javascript; charset=utf-8", "its header comes first"


@pytest.mark.parametrize(
    ("type_", "mime"),
    [
        *[("text/html charset=utf-8", ""), ("text/html(x", ""), ("text/html,text/html", ""), ("", ""), ("html", "")],
        *[("text/plain,text/html", ""), ("TEXT/HTML", ""), ("application/xhtml+xml", ""), ("nonsense", "text/html")],
    ],
)
def test_what_a_browser_draws_as_a_document_leads_into_the_archive(tmp_path: Path, type_: str, mime: str) -> None:
    record(tmp_path, {URL: Page(LINK, type_, loaded_as="Document")})
    if mime:
        note(tmp_path, "", mime, "UTF-8")
    reply, body = shown(tmp_path)
    assert reply.mimetype == "text/html; charset=utf-8"
    assert LED in body


@pytest.mark.parametrize("type_", ["application/xml", "text/xml", "text/xsl", "application/something+xml"])
def test_xhtml_of_any_type_leads_into_the_archive(tmp_path: Path, type_: str) -> None:
    xhtml = b'<?xml version="1.0"?><!-- x --><html xmlns="http://www.w3.org/1999/xhtml"><body>' + LINK + b"</p></body>"
    record(tmp_path, {URL: Page(xhtml + b"</html>", type_, loaded_as="Document")})
    reply, body = shown(tmp_path)
    assert reply.mimetype == "text/html; charset=utf-8"
    assert LED in body


def test_what_a_browser_draws_as_text_stays_text(tmp_path: Path) -> None:
    record(tmp_path, {URL: Page(LINK, "text/plain", loaded_as="Document")})
    note(tmp_path, "", "text/plain", "windows-1251")
    reply, body = shown(tmp_path)
    assert (reply.mimetype, body) == ("text/plain; charset=windows-1251", LINK)


def test_types_are_sent_as_they_were_understood(tmp_path: Path) -> None:
    record(
        tmp_path,
        {
            URL: Page(b"%PDF-1.7", "application/pdf; charset=binary x", loaded_as="Document"),
            f"{URL}p": Page(b"\x89PNG\r\n\x1a\n", "", loaded_as="Image"),
            f"{URL}s": Page(b"a{}", "", loaded_as="Stylesheet"),
            f"{URL}n": Page(b"1", "text/plain", headers=(("X-Content-Type-Options", "NoSniff"),), loaded_as="Script"),
        },
    )
    assert shown(tmp_path, "p")[0].mimetype == "image/png"
    assert shown(tmp_path, "s")[0].mimetype == "text/css; charset=utf-8"
    assert shown(tmp_path, "n")[0].mimetype == "text/plain"
    assert shown(tmp_path)[0].mimetype == "application/pdf"


@pytest.mark.parametrize(
    ("body", "declared", "type_"),
    [
        (b"a { color: red }", "text/css", "text/css; charset=utf-8"),
        (b'\xef\xbb\xbf {"a": 1}', "application/json", "application/json"),
        (b'["a"]', "application/manifest+json", "application/manifest+json"),
        (b'call({"a": 1})', "application/json", "text/javascript"),
        (b"/**/call([1])", "text/json", "text/javascript"),
        (b"let a", "text/plain", "text/javascript"),
    ],
)
def test_a_style_sheet_and_json_are_modules_of_their_own_types(
    tmp_path: Path, body: bytes, declared: str, type_: str
) -> None:
    record(tmp_path, {URL: Page(body, declared, loaded_as="Script")})
    assert shown(tmp_path)[0].mimetype == type_


def test_a_pdf_in_a_page_is_one_whatever_the_browsers_viewer_is(tmp_path: Path) -> None:
    record(tmp_path, {URL: Page(b"%PDF-1.7", "application/pdf", loaded_as="Document")})
    note(tmp_path, "", "text/html", "UTF-8")
    assert shown(tmp_path)[0].mimetype == "application/pdf"
