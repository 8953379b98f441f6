"""What is made of a recording: the packed WARC, files, redirects, hosts, and what the page said."""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import json
import shutil
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

import pytest
from fastwarc.warc import ArchiveIterator as FastIterator
from warcio.archiveiterator import ArchiveIterator

from archivebox.plugins.base.packing import sort_key
from archivebox.plugins.base.responses import Archive
from tests.plugins_bundled.browser.chain import NAVIGATE, PLUGINS, Crawl, Snapshot
from tests.site.serve import Site

CONSOLE = "consolelog/on_Snapshot__21_consolelog.daemon.bg.py"
STATIC = "staticfile/on_Snapshot__31_staticfile.py"
REDIRECTS = "redirects/on_Snapshot__31_redirects.py"
DNS = "dns/on_Snapshot__25_dns.py"
SSL = "ssl/on_Snapshot__23_ssl.py"
DOM = "dom/on_Snapshot__53_dom.py"
LINKS = "parse_html_urls/on_Snapshot__70_parse_html_urls.py"
WARC = "warc/on_Snapshot__92_warc.py"
PLAIN = "plain.warc"
Read = list[tuple[str, str, str]]
"""Type, URL and digest of the payload of each record."""


def recorded(crawl: Crawl, site: Site, path: str, *hooks: str) -> Snapshot:
    """Record a page, with hooks that look at it before it is closed."""
    snapshot = crawl.snapshot(path.strip("/").replace("/", "_"), site.url_for(path))
    recorder = snapshot.record()
    console = snapshot.start(CONSOLE).wait_until_ready()
    snapshot.run(NAVIGATE)
    for hook in hooks:
        assert snapshot.run(hook).status == "succeeded"
    assert console.stop().code == 0
    assert recorder.stop().status == "succeeded"
    snapshot.close()
    return snapshot


@pytest.fixture(scope="module")
def article(crawl: Crawl, site: Site) -> Snapshot:
    """A page that a meta refresh led to, recorded and packed."""
    snapshot = recorded(crawl, site, "/meta-refresh", DOM)
    shutil.copy(next((snapshot.folder / "responses").glob("*.warc")), snapshot.folder / PLAIN)
    assert snapshot.run(WARC, WARC_OUTPUTS="true").status == "succeeded"
    return snapshot


def digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def with_warcio(paths: Iterable[Path]) -> Read:
    found = []
    for path in paths:
        with path.open("rb") as file:
            for record in ArchiveIterator(file, check_digests="raise"):
                uri = record.rec_headers.get_header("WARC-Target-URI") or ""
                found.append((record.rec_type or "", uri, digest(record.content_stream().read())))
    return found


def with_fastwarc(paths: Iterable[Path]) -> Read:
    found = []
    for path in paths:
        with path.open("rb") as file:
            for record in FastIterator(file):
                uri = record.headers.get("WARC-Target-URI") or ""
                found.append((record.headers.get("WARC-Type") or "", uri, digest(record.reader.read())))
    return found


@pytest.mark.browser
def test_two_readers_find_the_same_records_packed_and_plain(article: Snapshot) -> None:
    packed = sorted((article.folder / "warc").glob("*.warc.gz"))
    assert with_warcio(packed) == with_fastwarc(packed)
    recorded_alone = [path for path in packed if path.name != "outputs.warc.gz"]
    assert with_warcio(recorded_alone) == with_warcio([article.folder / PLAIN])
    kinds = Counter(kind for kind, _, _ in with_warcio(packed))
    assert kinds["request"] == kinds["response"] + kinds["revisit"]
    assert kinds["resource"] == 1


@pytest.mark.browser
def test_links_of_a_page_without_its_dom_are_those_of_what_was_sent(crawl: Crawl, site: Site) -> None:
    outcome = recorded(crawl, site, "/tree/").run(LINKS)
    assert outcome.result is not None, outcome
    assert outcome.result["output_json"]["source"] == "responses"
    assert site.url_for("/tree/a/") in {record.get("url") for record in outcome.records}


@pytest.mark.browser
def test_what_was_made_of_the_page_is_on_the_disk_once_unless_that_is_wished(crawl: Crawl, site: Site) -> None:
    snapshot = recorded(crawl, site, "/colour", DOM)
    assert snapshot.run(WARC).status == "succeeded"
    assert "resource" not in {kind for kind, _, _ in with_warcio((snapshot.folder / "warc").glob("*.warc.gz"))}


@pytest.mark.browser
def test_each_line_of_the_index_leads_to_its_record(article: Snapshot) -> None:
    lines = (article.folder / "warc" / "index.cdxj").read_text().splitlines()
    assert lines == sorted(lines)
    fields = [json.loads(line.split(" ", 2)[2]) for line in lines]
    assert {entry["mime"] for entry in fields} >= {"text/html", "image/png", "warc/revisit", "text/css"}
    for entry in fields:
        with (article.folder / "warc" / entry["filename"]).open("rb") as file:
            file.seek(int(entry["offset"]))
            record = gzip.decompress(file.read(int(entry["length"])))
        assert record.startswith(b"WARC/1.1\r\n")
        assert f"WARC-Target-URI: {entry['url']}\r\n".encode() in record


@pytest.mark.browser
def test_bodies_are_found_after_packing_and_kept_once(article: Snapshot, site: Site) -> None:
    assert not list((article.folder / "responses").glob("*.warc"))
    archive = Archive(str(article.folder / "responses"))
    page, picture = (archive.find(site.url_for(path)) for path in ("/article", "/image.png?figure=1"))
    assert page
    assert picture
    assert archive.body(page).startswith(b"<!doctype html>")
    assert digest(archive.body(picture)) == picture.sha256


@pytest.mark.browser
def test_pages_name_the_page_for_a_wacz(article: Snapshot) -> None:
    head, page = map(json.loads, (article.folder / "warc" / "pages.jsonl").read_text().splitlines())
    assert head["format"] == "json-pages-1.0"
    assert page["url"] == article.url


@pytest.mark.browser
def test_the_way_to_the_page_is_told_with_who_sent_it_on(article: Snapshot, crawl: Crawl, site: Site) -> None:
    assert article.run(REDIRECTS).status == "succeeded"
    assert [step["by"] for step in article.json("redirects/redirects.json")["redirects"]] == ["meta"]
    for path, way in (("/redirect", ["http", "http"]), ("/js-redirect", ["script"])):
        page = recorded(crawl, site, path)
        assert page.run(REDIRECTS).status == "succeeded"
        record = page.json("redirects/redirects.json")
        assert [step["by"] for step in record["redirects"]] == way
        assert record["final_url"] == site.url_for("/article")


@pytest.mark.browser
def test_hosts_have_their_addresses(article: Snapshot) -> None:
    assert article.run(DNS).status == "succeeded"
    (host,) = map(json.loads, (article.folder / "dns" / "dns.jsonl").read_text().splitlines())
    assert (host["hostname"], host["addresses"], host["resolved"]) == ("127.0.0.1", ["127.0.0.1"], True)


@pytest.mark.browser
def test_what_came_without_tls_has_no_certificate(article: Snapshot) -> None:
    assert article.run(SSL).status == "noresults"


@pytest.mark.browser
def test_a_large_file_leaves_its_place_to_other_pages_while_it_comes(crawl: Crawl, site: Site) -> None:
    page = crawl.snapshot("large", site.url_for("/slow-file?each=1"))
    recorder = page.record()
    page.run(NAVIGATE)
    page.start(STATIC).wait_until_said("Waiting").end_for_good()
    recorder.end_for_good()
    page.close()


@pytest.mark.browser
def test_a_file_is_kept_under_its_name(crawl: Crawl, site: Site) -> None:
    pdf = recorded(crawl, site, "/file.pdf", STATIC)
    assert (pdf.folder / "staticfile" / "file.pdf").read_bytes().startswith(b"%PDF-")


@pytest.mark.browser
def test_where_nothing_came_there_is_no_file_yet(crawl: Crawl, site: Site) -> None:
    snapshot = crawl.snapshot("never_file", site.url_for("/never"), CHROME_PAGELOAD_TIMEOUT="2")
    recorder = snapshot.record()
    snapshot.run(NAVIGATE)
    outcome = snapshot.run(STATIC)
    assert outcome.result is not None
    assert (outcome.result["reason"], outcome.retry) == ("nothing_came", "later"), outcome
    assert recorder.stop().status in {"succeeded", "noresults"}
    snapshot.close()


@pytest.mark.browser
def test_what_scripts_say_is_kept(crawl: Crawl, site: Site) -> None:
    page = recorded(crawl, site, "/console")
    entries = [json.loads(line) for line in (page.folder / "consolelog" / "console.jsonl").read_text().splitlines()]
    assert {"log", "warning", "error"} <= {entry["level"] for entry in entries}
    assert any("Error" in entry["text"] for entry in entries if entry["level"] == "error")


def module_of(plugin: str, name: str) -> ModuleType:
    """A module that lies beside the hook of a plugin."""
    found = importlib.util.spec_from_file_location(f"{plugin}_{name}", PLUGINS / plugin / f"{name}.py")
    assert found
    assert found.loader
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("url", "mime", "disposition", "name"),
    [
        ("http://a/b/report.pdf?x=1", "application/pdf", "", "report.pdf"),
        ("http://a/photo.php", "image/jpeg", "", "photo.php.jpg"),
        ("http://a/", "application/pdf", "", "file.pdf"),
        ("http://a/x", "application/zip", 'attachment; filename="../../etc/a b.zip"', "a_b.zip"),
        ("http://a/x", "text/plain", "attachment; filename*=UTF-8''na%C3%AFve.txt", "naïve.txt"),
        ("http://a/.hidden", "text/plain", "", "hidden.txt"),
        ("http://a/data.bin", "application/octet-stream", "", "data.bin"),
        ("http://a/" + "x" * 500 + ".png", "image/png", "", "x" * 116 + ".png"),
    ],
)
def test_files_are_named_as_on_their_site_and_by_what_they_are(
    url: str, mime: str, disposition: str, name: str
) -> None:
    assert module_of("staticfile", "naming").file_name(url, mime, disposition) == name


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("https://www.Example.com/A?b=2&a=1", "com,example)/a?a=1&b=2"),
        ("http://sub.example.org:8080", "org,example,sub:8080)/"),
        ("http://127.0.0.1:80/x", "127.0.0.1:80)/x"),
        ("urn:view:http://a/", "urn:view:http://a/"),
    ],
)
def test_the_index_is_sorted_by_hosts_turned_round(url: str, key: str) -> None:
    assert sort_key(url) == key
