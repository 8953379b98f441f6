"""What SingleFile makes of pages in the open tab, with the program as npm installs it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from archivebox.plugins.base.cdp import Connection
from tests.plugins_bundled.browser.chain import NAVIGATE, Crawl, Snapshot
from tests.programs import Programs
from tests.site.serve import Site

pytestmark = pytest.mark.browser
SINGLEFILE = "singlefile/on_Snapshot__50_singlefile.py"
PICTURES = """new Promise(done => document.readyState === "complete" ? done() : addEventListener("load", done))
    .then(() => [...document.images].map(image => image.naturalWidth))"""


@pytest.fixture(scope="module")
def program(programs: Programs) -> str:
    return programs.install("singlefile")["single-file"]


@pytest.fixture
def reader(crawl: Crawl) -> Iterator[Connection]:
    """A tab of nobody's."""
    browser = Connection.open(crawl.session()["socket"])
    target = browser.call("Target.createTarget", {"url": "about:blank"})["targetId"]
    yield Connection.open(crawl.session()["socket"], target)
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


@pytest.mark.parametrize("path", ["/article", "/csp"])
def test_the_file_shows_the_page_and_asks_the_site_for_nothing(
    crawl: Crawl, site: Site, program: str, reader: Connection, path: str
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


def test_the_file_holds_frames_of_other_sites(crawl: Crawl, site: Site, program: str) -> None:
    page = saved(crawl, site, "/iframe", program).read_text()
    for colour in ("#ff0000", "#00ff00", "#0000ff", "Text of a srcdoc frame"):
        assert colour in page, colour


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
