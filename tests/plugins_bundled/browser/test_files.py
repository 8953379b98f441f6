"""URLs that are files: recorded without a browser, or left to it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from archivebox.contract.discovery import BUNDLED, read_plugin
from archivebox.contract.hook import Hook
from archivebox.lib.mime_sniffing import FILE_URL, is_file_url
from archivebox.plugins.base.responses import Archive
from tests.plugins_bundled.browser.chain import CRAWL_HOOK, NAVIGATE, Crawl, Outcome, Snapshot
from tests.site import pictures
from tests.site.serve import Site

FILE, KEEP = "responses/on_Snapshot__05_file.py", "staticfile/on_Snapshot__31_staticfile.py"
MARK = "responses/file.json"


@pytest.fixture
def own_crawl(tmp_path: Path) -> Crawl:
    """Its browser is not started."""
    return Crawl(tmp_path, TIMEOUT="30")


def asked(crawl: Crawl, url: str, **settings: str) -> tuple[Snapshot, Outcome]:
    snapshot = crawl.snapshot("file", url)
    return snapshot, snapshot.run(FILE, **settings)


def test_a_file_is_recorded_and_kept_without_a_browser(own_crawl: Crawl, site: Site) -> None:
    site.forget()
    snapshot, outcome = asked(own_crawl, site.url_for("/file.pdf?a=1"))
    kept = snapshot.run(KEEP)

    assert outcome.status == "succeeded", outcome
    facts = [record for record in outcome.records if record["type"] == "Snapshot"]
    url = site.url_for("/file.pdf?a=1")
    assert facts == [
        {"type": "Snapshot", "id": "s1", "final_url": url, "http_status": 200, "mime_type": "application/pdf"}
    ]
    assert len(site.requests) == 1
    assert (kept.status, kept.result and kept.result["output_str"]) == ("succeeded", "file.pdf"), kept
    assert (snapshot.folder / "staticfile" / "file.pdf").read_bytes() == pictures.pdf("The Local Web")
    archive = Archive(str(snapshot.folder / "responses"))
    (response,) = archive.latest()
    assert (response.is_main, response.status, response.mime) == (True, 200, "application/pdf")
    assert archive.body(response) == pictures.pdf("The Local Web")
    assert (snapshot.folder / MARK).is_file()


@pytest.mark.parametrize("type_", ["application/jsonl", "application/xml-dtd", "text/tsv"])
def test_a_type_that_begins_as_that_of_a_page_is_a_file(own_crawl: Crawl, site: Site, type_: str) -> None:
    snapshot, outcome = asked(own_crawl, site.url_for(f"/typed?type={type_}"))
    kept = snapshot.run(KEEP)
    assert (outcome.status, kept.status) == ("succeeded", "succeeded"), (outcome, kept)


def test_the_names_of_headers_may_be_in_lower_case(own_crawl: Crawl, site: Site) -> None:
    snapshot, outcome = asked(own_crawl, site.url_for("/lower-case.pdf"))
    assert outcome.status == "succeeded", outcome
    (response,) = Archive(str(snapshot.folder / "responses")).latest()
    assert response.mime == "application/pdf"


def test_a_file_without_a_byte_is_no_page_that_was_kept(crawl: Crawl, site: Site) -> None:
    snapshot, left = asked(crawl, site.url_for("/huge.bin?mb=0"))
    recorder = snapshot.record()
    navigated, kept = snapshot.run(NAVIGATE), snapshot.run(KEEP)
    recorder.stop()
    snapshot.close()
    assert left.status == "noresults", left
    assert (kept.status, kept.result and kept.result["reason"]) == ("failed", "no_page"), (navigated, kept)


@pytest.mark.parametrize(
    ("path", "settings"),
    [
        ("/article", {}),
        ("/lost.pdf", {}),
        ("/redirect", {}),
        ("/file.pdf", {"CHROME_EXTRA_HEADERS": '{"X-Who": "me"}'}),
        ("/file.pdf", {"COOKIES_FILE": "/tmp/cookies.txt"}),
    ],
    ids=["a page", "not found", "elsewhere", "with headers", "with cookies"],
)
def test_what_is_no_file_or_not_for_everybody_is_left_to_the_browser(
    own_crawl: Crawl, site: Site, path: str, settings: dict[str, str]
) -> None:
    snapshot, outcome = asked(own_crawl, site.url_for(path), **settings)

    assert (outcome.code, outcome.status) == (0, "noresults"), outcome
    assert outcome.result is not None
    assert outcome.result["output_str"].startswith("left to the browser")
    assert [record["type"] for record in outcome.records] == ["ArchiveResult"]
    assert list((snapshot.folder / "responses").iterdir()) == []


def test_a_persona_that_is_known_to_sites_asks_by_its_browser(own_crawl: Crawl, site: Site, tmp_path: Path) -> None:
    (tmp_path / "personas" / "ada" / "profile").mkdir(parents=True)
    _, outcome = asked(
        own_crawl, site.url_for("/file.pdf"), ACTIVE_PERSONA="ada", PERSONAS_DIR=str(tmp_path / "personas")
    )

    assert outcome.status == "noresults", outcome


def test_a_server_that_nobody_hears_is_the_browsers_to_tell(own_crawl: Crawl) -> None:
    _, outcome = asked(own_crawl, "http://127.0.0.1:9/file.pdf")

    assert (outcome.code, outcome.status) == (0, "noresults"), outcome


@pytest.mark.parametrize(
    ("url", "is_file"),
    [
        ("https://one.test/a/b.pdf", True),
        ("https://one.test/B.JPG?size=2#x", True),
        ("http://one.test:8000/x.tar.gz", True),
        ("https://one.test/pdf", False),
        ("https://one.test/a.pdf/read", False),
        ("https://one.test/read?file=a.pdf", False),
        ("https://one.test/wiki/File:Sea.jpg", False),
        ("https://one.test/a.html", False),
        ("https://one.pdf/", False),
        ("https://one.pdf", False),
    ],
)
def test_a_file_is_known_by_its_address(url: str, is_file: bool) -> None:
    assert is_file_url(url) is is_file


def test_hooks_and_browser_know_files_by_the_same_addresses() -> None:
    plugin = read_plugin("responses", BUNDLED / "responses")
    assert plugin is not None
    (hook,) = (hook for hook in plugin.hooks if hook.file_name.endswith("_file.py"))

    assert hook.applies.url is not None
    assert hook.applies.url.pattern == FILE_URL


def test_no_tab_is_opened_for_a_page_that_is_recorded_already(tmp_path: Path) -> None:
    (tmp_path / "responses").mkdir()
    (tmp_path / MARK).write_text(json.dumps({}))
    hooks = [hook for name in ("chrome", "consolelog", "modalcloser", "responses") for hook in hooks_of(name)]
    of_tab = [hook for hook in hooks if (hook.session or hook.opens_page) and not hook.applies.mime]

    assert len(of_tab) == 5
    assert not any(hook.applies.is_for_content_of(tmp_path) for hook in of_tab)


def hooks_of(name: str) -> list[Hook]:
    plugin = read_plugin(name, BUNDLED / name)
    assert plugin is not None
    return [hook for hook in plugin.hooks if hook.name.event == "Snapshot"]


@pytest.mark.browser
def test_a_crawl_that_begins_with_a_file_has_its_browser_once_a_tab_is_wanted(own_crawl: Crawl, site: Site) -> None:
    url = site.url_for("/file.pdf")
    hook = own_crawl.start(CRAWL_HOOK, own_crawl.folder, f"--url={url}")
    hook.wait_until_ready()
    assert not own_crawl.browser_processes()

    page = own_crawl.snapshot("page", site.url_for("/colour"))
    assert page.navigate().status == "succeeded"
    assert own_crawl.browser_processes()
    assert page.close().status == "succeeded"
    assert hook.stop().code == 0
    assert not own_crawl.browser_processes()


@pytest.mark.browser
def test_a_crawl_of_files_alone_ends_without_a_browser(own_crawl: Crawl, site: Site) -> None:
    url = site.url_for("/file.pdf")
    hook = own_crawl.start(CRAWL_HOOK, own_crawl.folder, f"--url={url}")
    outcome = hook.wait_until_ready().stop()

    assert outcome.code == 0, outcome
    assert not (own_crawl.folder / "chrome" / "session.json").exists()
