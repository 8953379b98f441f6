"""Plain text of stored HTML."""

import json
import subprocess
import sys
from html import escape
from pathlib import Path
from types import SimpleNamespace

import pytest

from archivebox.plugins.base.html_text import html_to_text
from archivebox.plugins.base.stored_html import decode_html, find_page
from archivebox.plugins.htmltotext.xml_text import xml_to_text
from tests.webserver.recording import Page, record

PLUGINS = Path(__file__).parents[3] / "archivebox" / "plugins"
PAGES = Path(__file__).parents[2] / "site" / "pages"


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>One\n  two<p>three", "One two\n\nthree\n"),
        ("<p>a<b>b</b><i> c</i></p>", "ab c\n"),
        ("<p>a<br>b", "a\nb\n"),
        ("<ul><li>1<li>2</ul>", "1\n2\n"),
        ("<table><tr><td>1<td>2<tr><td>3<td>4</table>", "1\t2\n3\t4\n"),
        ("<pre>one\n two</pre>", "one\ntwo\n"),
        ("<p>a</p><script>x()</script><style>y{}</style><template>z</template><p>b", "a\n\nb\n"),
        ("<p>a<!-- no --></p>", "a\n"),
        ("<p>a<svg><title>no</title><desc>no</desc><path/></svg>b</p>", "ab\n"),
        ("<svg><text>one <tspan>two</tspan></text><a href=/><text>three</text></a></svg>", "one two\nthree\n"),
        ("<svg><defs><text>no</text></defs><foreignObject><p>one<svg>no</svg></foreignObject></svg>", "one\n"),
        ("<p hidden>no<p>yes<p hidden=until-found>found", "yes\n\nfound\n"),
        ("<nav>menu</nav><div role=navigation>menu</div><p>text", "text\n"),
        ("<nav><a>only</a></nav>", "only\n"),
        ("<title>t</title>", ""),
        ("", ""),
        ("<p>&#28;a&#29;b&nbsp;&eacute;", "a b é\n"),
    ],
)
def test_a_block_is_a_paragraph_and_what_is_no_text_is_left_out(html: str, text: str) -> None:
    assert html_to_text(html) == text


def test_hostile_depth_is_no_harm() -> None:
    assert html_to_text("<div>" * 5000 + "deep") == "deep\n"


@pytest.mark.parametrize(
    "data",
    [
        "<meta charset=utf-8><p>日本語 é".encode(),
        b"\xef\xbb\xbf" + "<p>日本語 é".encode(),
        "<p>日本語 é".encode(),
        b"\xff\xfe" + "<p>日本語 é".encode("utf-16-le"),
        '<meta charset="gb18030"><p>日本語 é'.encode("gb18030"),
    ],
)
def test_encodings_are_recognised(data: bytes) -> None:
    assert html_to_text(decode_html(data)) == "日本語 é\n"


def test_declared_and_undeclared_legacy_encodings() -> None:
    shift_jis = '<meta http-equiv="Content-Type" content="text/html; charset=Shift_JIS"><p>日本語'
    assert html_to_text(decode_html(shift_jis.encode("cp932"))) == "日本語\n"
    assert html_to_text(decode_html("<p>café “x”".encode("cp1252"))) == "café “x”\n"
    assert html_to_text(decode_html(b"<meta charset=no-such><p>caf\xe9")) == "café\n"


def run_hook(plugin: str, snapshot: Path, url: str = "http://site.test/dir/page") -> SimpleNamespace:
    (hook,) = (PLUGINS / plugin).glob("on_Snapshot__*.py")
    folder = snapshot / plugin
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [sys.executable, str(hook), f"--url={url}", "--snapshot-id=x", "--crawl-id=y", "--depth=0"],
        cwd=folder,
        env={},
        capture_output=True,
        text=True,
        check=True,
    )
    records = [json.loads(line) for line in done.stdout.splitlines()]
    return SimpleNamespace(result=records[-1], others=records[:-1], folder=folder)


def store_dom(snapshot: Path, html: str) -> None:
    (snapshot / "dom").mkdir(parents=True)
    (snapshot / "dom" / "output.html").write_text(html)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "darwin", reason="it takes no limit of memory")
def test_what_would_become_a_tree_of_gigabytes_is_not_read(tmp_path: Path) -> None:
    """Each of the paragraphs opens all the elements anew that the first one left open."""
    many = 2_500
    store_dom(tmp_path, "<p>" + "".join(f"<font size={size}>" for size in range(many)) + "<p>x" * many)
    said = [run_hook(plugin, tmp_path).result for plugin in ("htmltotext", "parse_html_urls")]
    assert [result["status"] for result in said] == ["failed", "noresults"]
    assert all("memory" in result["output_str"] for result in said)


def store_wget(snapshot: Path, html: str, original: str = "", path: str = "site.test/page.html") -> None:
    page = snapshot / "wget" / path
    page.parent.mkdir(parents=True)
    page.write_text(html)
    facts = {"path": path, "original": "", "final_url": "http://moved.test/to/"}
    if original:
        page.with_suffix(".orig").write_text(original)
        facts["original"] = str(Path(path).with_suffix(".orig"))
    (snapshot / "wget" / "wget.json").write_text(json.dumps(facts))


def test_the_text_of_an_article_is_kept(tmp_path: Path) -> None:
    store_dom(tmp_path, (PAGES / "article.html").read_text())

    done = run_hook("htmltotext", tmp_path)

    text = (done.folder / "htmltotext.txt").read_text()
    assert done.result["status"] == "succeeded"
    assert done.result["output_json"]["source"] == "dom/output.html"
    assert "On Keeping Pages\n\nBy Ada Keeper, 14 November 2023\n\nPages that vanish\n\nNobody plans" in text
    assert "schema.org" not in text
    assert "The Local Web" not in text


def store_sent(snapshot: Path, html: str) -> None:
    """What the recorder has of a page that was sent so."""
    record(snapshot, {"http://site.test/": Page(html.encode())})
    index = snapshot / "responses" / "index.jsonl"
    index.write_text(json.dumps(json.loads(index.read_text()) | {"main": True}) + "\n")


WORDS = "<p>" + "Words of the page. " * 30


@pytest.mark.parametrize(
    ("sent", "dom", "built"),
    [
        ("<div id=app>Loading</div>", WORDS, True),
        (WORDS, WORDS + "<p>Three comments", False),
        ("<p>Few", "<p>Few words more", False),
        (None, WORDS, False),
    ],
)
def test_it_is_known_whether_scripts_have_written_most_of_the_text(
    tmp_path: Path, sent: str | None, dom: str, built: bool
) -> None:
    if sent is not None:
        store_sent(tmp_path, sent)
    store_dom(tmp_path, dom)
    result = run_hook("htmltotext", tmp_path).result
    assert result["output_json"]["built_by_scripts"] is built


def test_text_of_frames_was_not_written_by_scripts(tmp_path: Path) -> None:
    store_sent(tmp_path, "<p>Few words")
    store_dom(tmp_path, "<p>Few words")
    (tmp_path / "dom" / "shown.html").write_text(f"<p>Few words<div data-frame='http://x.test/'>{WORDS}</div>")

    done = run_hook("htmltotext", tmp_path)

    assert done.result["output_json"]["source"] == "dom/shown.html"
    assert not done.result["output_json"]["built_by_scripts"]
    assert "Words of the page." in (tmp_path / "htmltotext" / "htmltotext.txt").read_text()


def test_the_text_of_a_feed_is_its_text_and_not_its_source(tmp_path: Path) -> None:
    feed = (PAGES / "feed.rss").read_text()
    store_dom(tmp_path, f"<html><body><pre>{escape(feed)}</pre></body></html>")

    text = (run_hook("htmltotext", tmp_path).folder / "htmltotext.txt").read_text()

    assert text.startswith("The Local Web\n")
    assert "\nOn Keeping Pages\n" in text
    assert "<" not in text


@pytest.mark.parametrize("source", ["<![CDATA[<p>One</p><p>two</p>]]>", "&lt;p&gt;One&lt;/p&gt;&lt;p&gt;two&lt;/p&gt;"])
def test_html_inside_a_feed_is_text_too(source: str) -> None:
    feed = (
        f"<rss><item><title>A &amp; B</title><link>http://site.test/</link><description>{source}</description></item>"
    )

    assert xml_to_text(feed) == "A & B\nhttp://site.test/\nOne\n\ntwo\n"


def test_xml_that_the_browser_shows_as_a_tree_is_read_from_it(tmp_path: Path) -> None:
    tree = '<div id="webkit-xml-viewer-source-xml"><urlset><loc>http://a.test/</loc></urlset></div><div class="header">'
    store_dom(tmp_path, f"<html><body>{tree}<p>This XML file does not appear to have any style</p></div></body></html>")

    assert (run_hook("htmltotext", tmp_path).folder / "htmltotext.txt").read_text() == "http://a.test/\n"


def test_without_a_browser_the_page_of_wget_is_read_as_it_came(tmp_path: Path) -> None:
    store_wget(tmp_path, "<p>turned", original="<p>as it came")

    done = run_hook("htmltotext", tmp_path)

    assert (done.folder / "htmltotext.txt").read_text() == "as it came\n"
    assert done.result["output_json"]["source"] == "wget/site.test/page.orig"


@pytest.mark.parametrize("plugin", ["htmltotext", "parse_html_urls"])
def test_nothing_stored_is_no_result_and_no_file(tmp_path: Path, plugin: str) -> None:
    done = run_hook(plugin, tmp_path)

    assert done.result["status"] == "noresults"
    assert list(done.folder.iterdir()) == []


@pytest.mark.parametrize("plugin", ["htmltotext", "parse_html_urls"])
def test_a_page_with_nothing_in_it_is_no_result(tmp_path: Path, plugin: str) -> None:
    store_dom(tmp_path, "<html><body><img src=x></body></html>")

    assert run_hook(plugin, tmp_path).result["status"] == "noresults"


def test_what_wget_saved_that_is_no_html_is_not_read(tmp_path: Path) -> None:
    store_wget(tmp_path, "%PDF-1.4", path="site.test/file.pdf")

    assert find_page(tmp_path) is None


def test_a_path_that_leads_out_of_the_plugins_folder_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret.html").write_text("<p>secret")
    (tmp_path / "wget").mkdir()
    (tmp_path / "wget" / "wget.json").write_text('{"path": "../secret.html"}')

    assert find_page(tmp_path) is None
