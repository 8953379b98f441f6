"""What SingleFile makes of pages in the open tab, with the program as npm installs it."""

from __future__ import annotations

import base64
import io
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image, ImageChops

from archivebox.plugins.base.cdp import CDPConnection
from tests.marks import first_by_default
from tests.plugins_bundled.browser.chain import NAVIGATE, SETTLE, Crawl, Snapshot
from tests.programs import Programs
from tests.site.charsets import texts
from tests.site.serve import Site

pytestmark = pytest.mark.browser
DRAWN = {
    "/apps/canvas": [(0xE7, 0x6F, 0x51)],
    "/apps/webgl": [(230, 56, 69)],
    "/modern/webgl": [(230, 56, 69)],
    "/modern/map": [(0xE6, 0x39, 0x46), (0x8A, 0xB1, 0x7D)],
    "/modern/popover": [(0xF4, 0xA2, 0x61), (0xA8, 0xDA, 0xDC)],
    "/modern/popover-hint": [(0xE9, 0xC4, 0x6A)],
    "/modern/popover-root": [(0xF4, 0xA2, 0x61), (0x2A, 0x9D, 0x8F), (0xE9, 0xC4, 0x6A)],
    "/modern/shared-sheet": [(0x2A, 0x9D, 0x8F)],
    "/modern/custom-states": [(0xE9, 0xC4, 0x6A)],
    "/modern/manual-slots": [(0xE6, 0x39, 0x46), (0x2A, 0x9D, 0x8F)],
    "/modern/animated": [(0xE6, 0x39, 0x46), (0x45, 0x7B, 0x9D)],
    "/modern/style-rules": [(0xE6, 0x39, 0x46)],
    "/modern/paint": [(0x2A, 0x9D, 0x8F)],
    "/image-set": [(29, 53, 87), (230, 57, 70), (138, 177, 125), (188, 108, 37), (233, 196, 106)],
}
"""Pages, and the colours that scripts draw, open or set, or a choice among pictures shows."""
LEFT = "document.querySelector('video').outerHTML + document.head.innerHTML"
"""Where attributes and styles stay that are there while a page is saved."""
STREAMED = """new Promise(done => {
    const video = document.querySelector("video");
    video.readyState < 2 ? video.addEventListener("loadeddata", done) : done();
})"""
SINGLEFILE = "singlefile/on_Snapshot__50_singlefile.py"
PICTURES = """new Promise(done => document.readyState === "complete" ? done() : addEventListener("load", done))
    .then(() => [...document.images].map(image => image.naturalWidth))"""


@pytest.fixture(scope="module")
def program(programs: Programs) -> str:
    return programs.install("singlefile")["single-file"]


@pytest.fixture
def reader(crawl: Crawl) -> Iterator[CDPConnection]:
    """A tab of nobody's."""
    browser = CDPConnection.open(crawl.session()["socket"])
    target = browser.call("Target.createTarget", {"url": "about:blank"})["targetId"]
    yield CDPConnection.open(crawl.session()["socket"], target)
    browser.call("Target.closeTarget", {"targetId": target})
    browser.close()


def navigated(crawl: Crawl, site: Site, path: str, program: str, **settings: str) -> Snapshot:
    page = crawl.snapshot(path.strip("/"), site.url_for(path), SINGLEFILE_BINARY=program, **settings)
    assert page.navigate().status == "succeeded"
    return page


def saved(crawl: Crawl, site: Site, path: str, program: str, **settings: str) -> Path:
    page = navigated(crawl, site, path, program, **settings)
    outcome = page.run(SINGLEFILE)
    page.close()
    assert outcome.status == "succeeded", outcome
    return page.folder / "singlefile" / "singlefile.html"


@pytest.mark.default
@first_by_default(1, "path", ["/article", "/csp"])
def test_the_file_shows_the_page_and_asks_the_site_for_nothing(
    crawl: Crawl, site: Site, program: str, reader: CDPConnection, path: str
) -> None:
    file = saved(crawl, site, path, program)
    site.forget()
    reader.call("Page.navigate", {"url": file.as_uri()})
    widths = reader.call("Runtime.evaluate", {"expression": PICTURES, "awaitPromise": True, "returnByValue": True})
    assert widths["result"]["value"]
    assert all(widths["result"]["value"])
    assert not site.requests


def test_what_was_recorded_is_not_fetched_again(crawl: Crawl, site: Site, program: str) -> None:
    page = crawl.snapshot("recorded", site.url_for("/article?recorded"), SINGLEFILE_BINARY=program)
    recorder = page.record()
    assert page.run(NAVIGATE).status == "succeeded"
    site.forget()
    assert page.run(SINGLEFILE).status == "succeeded"
    assert (page.folder / "singlefile" / "singlefile.html").read_text().count("data:image/png") >= 2
    assert [hit.path for hit in site.requests if hit.path != "/favicon.ico"] == []
    recorder.stop()
    page.close()


def test_styles_have_the_charset_of_their_document(crawl: Crawl, site: Site, program: str) -> None:
    path = "/charset/windows-1251"
    page = crawl.snapshot("charset", site.url_for(path), SINGLEFILE_BINARY=program)
    recorder = page.record()
    assert page.run(NAVIGATE).status == "succeeded"
    assert page.run(SINGLEFILE).status == "succeeded"
    assert texts("windows-1251")[3] in (page.folder / "singlefile" / "singlefile.html").read_text()
    recorder.stop()
    page.close()


def test_the_file_holds_frames_of_other_sites(crawl: Crawl, site: Site, program: str) -> None:
    page = saved(crawl, site, "/iframe", program).read_text()
    for colour in ("#ff0000", "#00ff00", "#0000ff", "Text of a srcdoc frame"):
        assert colour in page, colour


@pytest.mark.parametrize("path", DRAWN)
def test_what_scripts_show_is_seen_where_they_are_off(
    crawl: Crawl, site: Site, program: str, reader: CDPConnection, path: str
) -> None:
    file = saved(crawl, site, path, program)
    reader.call("Emulation.setScriptExecutionDisabled", {"value": True})
    reader.call("Page.navigate", {"url": file.as_uri()})
    deadline = time.monotonic() + 90
    while not is_loaded(reader) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert [colour for colour in DRAWN[path] if pixels_of(reader, colour) <= 5000] == []


def is_loaded(reader: CDPConnection) -> bool:
    """Whether the page is loaded; asked for, as no listener is called where scripts are off."""
    answer = reader.call("Runtime.evaluate", {"expression": "document.readyState"})
    return bool(answer["result"]["value"] == "complete")


def pixels_of(reader: CDPConnection, colour: tuple[int, int, int]) -> int:
    """How many pixels of the window have a colour, give or take two shades."""
    shot = base64.b64decode(reader.call("Page.captureScreenshot")["data"])
    with Image.open(io.BytesIO(shot)) as picture:
        seen = picture.convert("RGB")
    difference = ImageChops.difference(seen, Image.new("RGB", seen.size, colour))
    first, *others = difference.split()
    for band in others:
        first = ImageChops.lighter(first, band)
    return sum(first.histogram()[:3])


def test_fonts_that_scripts_add_are_in_the_file(crawl: Crawl, site: Site, program: str) -> None:
    page = crawl.snapshot("fonts", site.url_for("/modern/fontface"), SINGLEFILE_BINARY=program)
    recorder = page.record()
    assert page.run(NAVIGATE).status == "succeeded"
    assert page.run(SINGLEFILE).status == "succeeded"
    recorder.stop()
    page.close()
    html = (page.folder / "singlefile" / "singlefile.html").read_text()
    assert re.findall(r"@font-face *{font-family:\W*(\w+)", html) == ["Blocks", "Second"]


def test_a_video_fed_by_a_script_gets_its_frame_as_poster(crawl: Crawl, site: Site, program: str) -> None:
    page = navigated(crawl, site, "/apps/hls", program)
    tab = CDPConnection.open(crawl.session()["socket"], page.json("chrome/target.json")["target_id"])
    tab.call("Runtime.evaluate", {"expression": STREAMED, "awaitPromise": True})
    outcome = page.run(SINGLEFILE)
    left = tab.call("Runtime.evaluate", {"expression": LEFT})
    page.close()
    assert outcome.status == "succeeded", outcome
    html = (page.folder / "singlefile" / "singlefile.html").read_text()
    assert re.search(r"<video[^>]* poster=.?data:image/webp;", html), "a frame without loss"
    assert "::-webkit-media-controls" in html, "browsers draw controls where scripts are off"
    assert not re.search("poster|controls", left["result"]["value"])


def test_a_recorded_film_plays_in_the_file(crawl: Crawl, site: Site, program: str) -> None:
    page = crawl.snapshot("film", site.url_for("/video"), SINGLEFILE_BINARY=program)
    recorder = page.record()
    for hook in (NAVIGATE, SETTLE, SINGLEFILE):
        assert page.run(hook).status == "succeeded"
    recorder.stop()
    page.close()
    assert re.search(r"src=.?data:video/", (page.folder / "singlefile" / "singlefile.html").read_text())


def test_what_is_beyond_the_limit_is_left_out_and_counted(crawl: Crawl, site: Site, program: str) -> None:
    page = navigated(crawl, site, "/lazy", program, SINGLEFILE_MAX_SIZE="2000")
    outcome = page.run(SINGLEFILE)
    page.close()
    assert outcome.status == "succeeded"
    assert outcome.result is not None
    assert outcome.result["output_json"]["missing"] > 0


def test_options_are_those_of_its_command(crawl: Crawl, site: Site, program: str) -> None:
    extra = {"SINGLEFILE_ARGS_EXTRA": "--block-images --insert-meta-CSP=false"}
    page = saved(crawl, site, "/article?plain", program, **extra).read_text()
    assert "http-equiv=content-security-policy" not in page.replace('"', "")
    assert "data:image/png" not in page


def test_a_program_that_is_no_singlefile_is_a_sentence(crawl: Crawl, site: Site) -> None:
    page = navigated(crawl, site, "/colour", "/bin/true")
    outcome = page.run(SINGLEFILE)
    page.close()
    assert (outcome.code, outcome.status) == (1, "failed")
    assert "/bin/true is not of the npm package single-file-cli" in outcome.stderr
