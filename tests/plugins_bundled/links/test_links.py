"""Links of what was captured, by the real hooks: from the page's HTML, and from documents of every format."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from archivebox.contract.applies import PageFacts
from archivebox.contract.discovery import read_plugin

PLUGINS = Path(__file__).parents[3] / "archivebox" / "plugins"
PAGES = Path(__file__).parents[2] / "site" / "pages"
SITE = "http://site.test"
FIVE = [f"{SITE}/{path}" for path in ("article", "colour", "unicode", "tree/", "dup?x=1&y=2")]
DATED = {"parse_rss_urls", "parse_netscape_urls"}


def run_hook(plugin: str, snapshot: Path, url: str = f"{SITE}/dir/page", *, code: int = 0) -> SimpleNamespace:
    (hook,) = (PLUGINS / plugin).glob("on_Snapshot__*.py")
    folder = snapshot / plugin
    folder.mkdir(parents=True)
    command = [sys.executable, str(hook), f"--url={url}", "--snapshot-id=x", "--crawl-id=y", "--depth=0"]
    done = subprocess.run(command, cwd=folder, env={}, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    records = [json.loads(line) for line in done.stdout.splitlines()]
    found, told = ([one for one in records if name in one] for name in ("url", "id"))
    return SimpleNamespace(result=records[-1], found=found, told=told, folder=folder)


def links_of(html: str, snapshot: Path) -> SimpleNamespace:
    """Of the page after scripts, which came from elsewhere than it was asked for."""
    for plugin, file, text in (
        ("dom", "output.html", html),
        ("chrome", "navigation.json", f'{{"final_url": "{SITE}/to/"}}'),
    ):
        (snapshot / plugin).mkdir()
        (snapshot / plugin / file).write_text(text)
    return run_hook("parse_html_urls", snapshot)


def store(snapshot: Path, data: bytes, name: str = "file") -> None:
    """As wget keeps what it was sent."""
    (snapshot / "wget" / "site.test").mkdir(parents=True)
    (snapshot / "wget" / "site.test" / name).write_bytes(data)
    facts = {"path": f"site.test/{name}", "original": "", "final_url": f"{SITE}/{name}"}
    (snapshot / "wget" / "wget.json").write_text(json.dumps(facts))


@pytest.mark.parametrize(
    ("plugin", "page"),
    [
        ("parse_txt_urls", "urls.txt"),
        ("parse_rss_urls", "feed.rss"),
        ("parse_rss_urls", "feed.atom"),
        ("parse_rss_urls", "feed.json"),
        ("parse_netscape_urls", "bookmarks.html"),
        ("parse_jsonl_urls", "urls.jsonl"),
        ("parse_csv_urls", "urls.csv"),
        ("parse_md_urls", "links.md"),
    ],
)
def test_a_document_of_each_format_gives_its_links_with_what_is_said_of_them(
    tmp_path: Path, plugin: str, page: str
) -> None:
    store(tmp_path, (PAGES / page).read_bytes().replace(b"%SITE%", SITE.encode()), page)
    done = run_hook(plugin, tmp_path)
    assert [record["url"] for record in done.found] == FIVE
    assert done.result["output_json"] == {"urls": 5, "source": f"wget/site.test/{page}"}
    if plugin not in {"parse_txt_urls", "parse_md_urls"}:
        tags = ["reading", "Local"] if page == "bookmarks.html" else ["reading"]
        third = {"type": "Snapshot", "url": FIVE[2], "title": "日本語のページ", "tags": tags}
        dated = {"bookmarked_at": "2023-11-14T22:13:22+00:00"} if plugin in DATED else {}
        assert done.found[2] == third | dated
    written = [json.loads(line) for line in (done.folder / "urls.jsonl").read_text().splitlines()]
    assert [record["url"] for record in written] == FIVE
    assert ("date" in written[0]) == (plugin in DATED)
    if plugin == "parse_rss_urls":
        assert done.told == [{"type": "Snapshot", "id": "x", "title": "The Local Web"}]
        entries = (done.folder / "feed.txt").read_text().split("\n----\n\n")
        assert entries[0] == f"On Keeping Pages\n{FIVE[0]}\n2023-11-14T22:13:20+00:00\n\nAn article on archives\n"
        assert len(entries) == 5


def test_a_sitemap_gives_its_pages(tmp_path: Path) -> None:
    store(tmp_path, (PAGES / "sitemap.xml").read_bytes().replace(b"%SITE%", SITE.encode()))
    done = run_hook("parse_sitemap_urls", tmp_path)
    assert done.found[1]["url"] == f"{SITE}/tree/"
    assert done.result["output_json"]["urls"] == len(done.found) > 10


@pytest.mark.parametrize("plugin", ["parse_rss_urls", "parse_sitemap_urls", "parse_jsonl_urls", "parse_csv_urls"])
def test_what_is_of_another_format_is_no_result(tmp_path: Path, plugin: str) -> None:
    store(tmp_path, b"\x00\x01<html>{ nothing")
    assert run_hook(plugin, tmp_path).result["status"] == "noresults"


def test_a_feed_that_is_called_plain_text_is_left_to_the_reader_of_feeds(tmp_path: Path) -> None:
    store(tmp_path, (PAGES / "feed.rss").read_bytes())
    assert run_hook("parse_txt_urls", tmp_path).result["output_str"].startswith("It is markup")


def test_nothing_stored_is_no_result_and_no_file(tmp_path: Path) -> None:
    done = run_hook("parse_txt_urls", tmp_path)
    assert done.result["status"] == "noresults"
    assert list(done.folder.iterdir()) == []


def test_a_page_has_so_many_links_at_most(tmp_path: Path) -> None:
    store(tmp_path, b"".join(b"http://x.test/%d\n" % number for number in range(50_001)))
    done = run_hook("parse_txt_urls", tmp_path)
    assert len(done.found) == 50_000
    assert done.result["output_json"]["stopped"] == "at 50,000 links"


@pytest.mark.parametrize(
    ("html", "links"),
    [
        ('<a href="/b#part"><a href="/b#other"><a href="/b">', [f"{SITE}/b"]),
        ('<a href="//other.test"><a href="b">', ["http://other.test/", f"{SITE}/to/b"]),
        ('<base href="https://base.test/x/"><a href="y?q=1&amp;r=2">', ["https://base.test/x/y?q=1&r=2"]),
        ('<a href=" HTTP://EXAMPLE.com:80/%7Ea ">', ["http://example.com/%7Ea"]),
        ('<a href="javascript:x()"><a href="mailto:a@b"><a href="data:,x"><a href="ftp://x/"><a href="http://">', []),
        ('<a href="#top"><a href=""><a href="./">', []),
        ('<a name="x"><img src="/p.png"><link rel=stylesheet href=/s.css>', []),
        ('<area href=/a><iframe src=/f></iframe><link rel="next" href=/n>', [f"{SITE}/a", f"{SITE}/f", f"{SITE}/n"]),
        ('<a href="http://münchen.test/ü">', ["http://xn--mnchen-3ya.test/%C3%BC"]),
    ],
)
def test_links_of_a_page_are_resolved_as_a_browser_does(tmp_path: Path, html: str, links: list[str]) -> None:
    assert [record["url"] for record in links_of(html, tmp_path).found] == links


def test_the_words_of_a_pages_link_are_written_down_and_no_title_of_what_it_leads_to(tmp_path: Path) -> None:
    done = links_of('<a href="one"><img src=x></a><a href="one">Read\n more</a>', tmp_path)
    assert done.found == [{"type": "Snapshot", "url": f"{SITE}/to/one"}]
    assert json.loads((done.folder / "urls.jsonl").read_text())["title"] == "Read more"
    assert done.result["output_json"] == {"urls": 1, "source": "dom/output.html"}


@pytest.mark.parametrize(
    ("name", "mime", "url"),
    [
        ("parse_txt_urls", "text/plain", ""),
        ("parse_rss_urls", "application/rss+xml", ""),
        ("parse_rss_urls", "application/feed+json", ""),
        ("parse_rss_urls", "text/plain", ""),
        ("parse_rss_urls", "text/x-opml", ""),
        ("parse_netscape_urls", "text/html", "http://a.test/my-bookmarks.html?dl=1"),
        ("parse_jsonl_urls", "application/x-ndjson", ""),
        ("parse_csv_urls", "text/csv", ""),
        ("parse_md_urls", "text/markdown", ""),
        ("parse_sitemap_urls", "application/xml", ""),
        ("parse_sitemap_urls", "application/x-gzip", ""),
    ],
)
def test_a_format_is_looked_for_in_documents_of_its_own_type_alone(name: str, mime: str, url: str) -> None:
    plugin = read_plugin(name, PLUGINS / name)
    assert plugin is not None
    assert plugin.warnings == ()
    (hook,) = plugin.hooks
    assert hook.applies.reason_against(url, PageFacts(url, 200, mime)) is None
    assert hook.applies.reason_against("http://a.test/", PageFacts("", 200, "image/png")) is not None
    assert hook.applies.reason_against("http://a.test/", PageFacts("", 200, "text/html")) is not None


@pytest.mark.parametrize("plugin", ["parse_html_urls", "parse_txt_urls"])
@pytest.mark.parametrize("error", [None, "the server did not answer within 30 s"])
def test_links_of_a_page_that_was_lost_are_looked_for_when_it_is_opened_again(
    tmp_path: Path, plugin: str, error: str | None
) -> None:
    (tmp_path / "chrome").mkdir()
    if error:
        (tmp_path / "chrome" / "navigation.json").write_text(json.dumps({"error": error, "transient": True}))
    result = run_hook(plugin, tmp_path, code=1).result
    assert (result["status"], result["retry"], result["reason"]) == ("failed", "later", "nothing_came")


def test_a_page_of_which_no_document_is_kept_has_no_links(tmp_path: Path) -> None:
    """It came, but neither its DOM nor what was sent was wanted."""
    (tmp_path / "chrome").mkdir()
    (tmp_path / "chrome" / "navigation.json").write_text('{"error": "", "status": 200}')
    assert run_hook("parse_html_urls", tmp_path).result["status"] == "noresults"
    assert run_hook("parse_txt_urls", tmp_path / "without-browser").result["status"] == "noresults"
