"""Unpacked extensions are loaded into the crawl's browser: those that a person names, and those that plugins offer."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.plugins_bundled.browser.chain import CRAWL_HOOK, Crawl
from tests.site.serve import Site

pytestmark = pytest.mark.browser
EXTENSION = Path(__file__).parent / "extension"
UBLOCK = "ublock/on_Crawl__00_extension.py"
DOM = "dom/on_Snapshot__53_dom.py"


@pytest.fixture
def extension(tmp_path: Path) -> Path:
    """A copy of our own extension: Chromium writes its compiled rules beside it."""
    return Path(shutil.copytree(EXTENSION, tmp_path / "lib" / "extensions" / "ublock"))


def crawl_of(tmp_path: Path, **settings: str) -> Crawl:
    return Crawl(tmp_path / "crawl", TIMEOUT="30", LIB_DIR=str(tmp_path / "lib"), **settings)


@pytest.mark.usefixtures("extension")
def test_what_a_plugin_offers_changes_pages_and_blocks_requests(tmp_path: Path, site: Site) -> None:
    crawl = crawl_of(tmp_path)
    offer = crawl.start(UBLOCK, crawl.folder).wait()
    assert offer.result == {"type": "ArchiveResult", "status": "succeeded", "output_str": "Test extension 1.2"}, offer
    site.forget()
    with crawl:
        page = crawl.snapshot("page", site.url_for("/lazy"))
        assert page.navigate().status == "succeeded"
        assert page.run(DOM).status == "succeeded"
    assert 'data-extension="Test extension"' in (page.folder / "dom" / "output.html").read_text()
    fetched = {hit.path for hit in site.requests if hit.path.startswith("/image.png")}
    assert "/image.png?lazy=2" in fetched
    assert "/image.png?lazy=1" not in fetched


def test_a_folder_that_a_person_names_is_loaded(tmp_path: Path, extension: Path) -> None:
    with crawl_of(tmp_path, CHROME_EXTENSIONS=json.dumps([str(extension)])) as crawl:
        (browser, *_) = [pid for pid in crawl.browser_processes() if pid == crawl.session()["pid"]]
        arguments = Path(f"/proc/{browser}/cmdline").read_text().split("\0")
    assert f"--load-extension={extension}" in arguments


def test_an_extension_that_is_not_there_is_skipped_and_said_where_to_put(tmp_path: Path) -> None:
    crawl = crawl_of(tmp_path)
    offer = crawl.start(UBLOCK, crawl.folder).wait()
    assert offer.status == "skipped", offer
    assert offer.result is not None
    assert f"unpack it into {tmp_path}/lib/extensions/ublock" in offer.result["output_str"]


@pytest.mark.parametrize(
    ("manifest", "sentence"),
    [('{"manifest_version": 2}', "manifest_version 3 alone"), ("", "holds no unpacked extension")],
)
def test_what_chromium_would_not_load_is_refused_by_name(tmp_path: Path, manifest: str, sentence: str) -> None:
    (tmp_path / "manifest.json").write_text(manifest)
    crawl = crawl_of(tmp_path, CHROME_EXTENSIONS=str(tmp_path))
    browser = crawl.start(CRAWL_HOOK, crawl.folder).wait()
    assert (browser.code, browser.status) == (1, "failed"), browser
    assert str(tmp_path) in browser.stderr
    assert sentence in browser.stderr
