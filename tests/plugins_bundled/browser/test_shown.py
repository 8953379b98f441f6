"""What pages show in shadow roots and frames is kept, and pages that guard how HTML gets into them are kept whole."""

from __future__ import annotations

import json

import pytest

from archivebox.plugins.base.tab import Tab
from tests.plugins_bundled.browser.chain import NAVIGATE, SETTLE, Crawl, Outcome, Snapshot
from tests.programs import Programs
from tests.site.serve import Site

pytestmark = pytest.mark.browser
DOM = "dom/on_Snapshot__53_dom.py"
LINKS = "parse_dom_outlinks/on_Snapshot__75_parse_dom_outlinks.py"
TEXT = "htmltotext/on_Snapshot__57_htmltotext.py"
SINGLEFILE = "singlefile/on_Snapshot__50_singlefile.py"
READERS = {
    "readability": "readability/on_Snapshot__55_readability.py",
    "defuddle": "defuddle/on_Snapshot__56_defuddle.py",
    "mercury": "mercury/on_Snapshot__56_mercury.py",
}
IN_ROOTS = (
    "Open words: Slotted words of the page",
    "Nested words",
    "Inmost closed words",
    "Closed words",
    "Words of a closed box",
    "Declared closed words",
)
TRIES_HTML = "(() => { try { document.body.innerHTML = '' } catch (error) { return error.message } })()"
IN_FRAMES = ("Text of a srcdoc frame", "Words of another origin")


class Page:
    """A page of the local web, open and settled."""

    def __init__(self, crawl: Crawl, site: Site, path: str, programs: Programs) -> None:
        for plugin in (*READERS, "singlefile"):
            programs.install(plugin)
        single_file = programs.install("singlefile")["single-file"]
        name = path.strip("/").replace("/", "_")
        self.snapshot: Snapshot = crawl.snapshot(
            name, site.url_for(path), SINGLEFILE_BINARY=single_file, **programs.environment
        )
        self.recorder = self.snapshot.record()
        for hook in (NAVIGATE, SETTLE, DOM):
            self.run(hook)

    def run(self, hook: str) -> Outcome:
        outcome = self.snapshot.run(hook)
        assert outcome.status == "succeeded", outcome
        return outcome

    def read(self, name: str) -> str:
        return (self.snapshot.folder / name).read_text()

    def close(self) -> None:
        self.recorder.stop()
        self.snapshot.close()


@pytest.fixture(scope="module")
def roots(crawl: Crawl, site: Site, programs: Programs) -> Page:
    return Page(crawl, site, "/roots", programs)


def test_text_has_what_shadow_roots_and_frames_show(roots: Page) -> None:
    roots.run(TEXT)

    text = roots.read("htmltotext/htmltotext.txt")
    assert [words for words in (*IN_ROOTS, *IN_FRAMES) if words not in text] == []
    assert "Never shown words" not in text, "what no slot takes"
    assert "Words that nobody sees" not in text, "a frame that is hidden"


def test_the_kept_document_declares_all_shadow_roots_with_their_styles(roots: Page) -> None:
    html = roots.read("dom/output.html")

    assert html.count('<template shadowrootmode="open">') == 3
    assert html.count('<template shadowrootmode="closed">') == 5
    assert "<style>p { color: rgb(1, 2, 3); }</style>" in html
    assert "Never shown words" in html
    assert "data-frame" not in html


def test_links_in_shadow_roots_and_frames_are_found(roots: Page, site: Site) -> None:
    found = {record["url"] for record in roots.run(LINKS).records if record["type"] == "Snapshot"}

    here = {site.url_for(f"/dup?{name}") for name in ("open", "nested", "closed", "declared")}
    assert found == here | {site.other_url + "dup?framed"}


@pytest.mark.parametrize("plugin", READERS)
def test_articles_have_what_shadow_roots_show(roots: Page, plugin: str) -> None:
    roots.run(READERS[plugin])

    assert "Inmost closed words" in roots.read(f"{plugin}/content.txt")


@pytest.mark.parametrize("plugin", ["readability", "defuddle"])  # mercury finds no article in so few words
def test_articles_have_small_frames_of_a_page_without_words(
    crawl: Crawl, site: Site, programs: Programs, plugin: str
) -> None:
    page = Page(crawl, site, "/iframe", programs)
    try:
        page.run(READERS[plugin])
        text = page.read(f"{plugin}/content.txt")
        assert "A frame with a frame." in text
        assert "Text of a srcdoc frame" in text
    finally:
        page.close()


def test_the_single_file_has_nested_and_closed_roots(roots: Page) -> None:
    roots.run(SINGLEFILE)

    html = roots.read("singlefile/singlefile.html")
    missing = [words for words in (*IN_ROOTS[1:], *IN_FRAMES, "Slotted words of the page") if words not in html]
    assert missing == []
    assert html.count("data:image/png") >= 1, "a picture in a closed root"


def test_the_live_page_is_as_it_was(roots: Page) -> None:
    tab = Tab.attach(str(roots.snapshot.folder / "chrome"), read_only=True)
    assert tab.evaluate("document.querySelectorAll('[data-frame], template, iframe').length") == 3
    assert tab.evaluate("typeof shown") == "undefined"
    tab.close()


def test_a_page_without_shadow_roots_and_frames_is_kept_once(crawl: Crawl, site: Site) -> None:
    page = crawl.snapshot("plain", site.url_for("/article?plain"))
    assert page.navigate().status == "succeeded"
    assert page.run(SETTLE).status == page.run(DOM).status == "succeeded"
    assert {path.name for path in (page.folder / "dom").iterdir()} == {"output.html", "words.json"}
    assert not (page.folder / "chrome" / "closed_roots.json").exists()
    page.close()


@pytest.mark.parametrize("path", ["/guarded", "/guarded/named", "/guarded/none"])
def test_pages_with_trusted_types_are_read_and_saved(crawl: Crawl, site: Site, programs: Programs, path: str) -> None:
    page = Page(crawl, site, path, programs)
    tab = Tab.attach(str(page.snapshot.folder / "chrome"), read_only=True)
    before = tab.evaluate("document.documentElement.outerHTML")
    for plugin, hook in READERS.items():
        page.run(hook)
        assert "The best test of an archive is a reader with a question." in page.read(f"{plugin}/content.txt")
    page.run(SINGLEFILE)
    assert "The best test of an archive is a reader with a question." in page.read("singlefile/singlefile.html")
    assert tab.evaluate("document.documentElement.outerHTML") == before
    assert "TrustedHTML" in tab.evaluate(TRIES_HTML), "the page's own scripts are held to its rules"
    tab.close()
    page.close()
    index = [json.loads(line) for line in page.read("responses/index.jsonl").splitlines()]
    sent = next(entry["response_headers"] for entry in index if entry.get("main"))
    assert sent["Content-Security-Policy"].startswith("require-trusted-types-for 'script'")


def test_words_are_counted_as_seen_and_what_scripts_have_opened_is_kept(crawl: Crawl, site: Site) -> None:
    found = {}
    for name in ("sandbox", "popover"):
        page = crawl.snapshot(f"seen-{name}", site.url_for(f"/modern/{name}"))
        assert page.navigate().status == "succeeded"
        assert [page.run(hook).status for hook in (SETTLE, DOM)] == ["succeeded"] * 2
        found[name] = json.loads((page.folder / "dom" / "words.json").read_text())
        opened = page.folder / "dom" / "opened.json"
        page.close()
        assert opened.exists() is (name == "popover")
    assert found["sandbox"]["recorded"] == 1, "a script has written it in a frame"
    assert found["popover"]["says"] == 1
    said = json.loads(opened.read_text())
    assert said["url"] == site.url_for("/modern/popover")
    assert "168, 218, 220" in said["styles"]["#note"], "its backdrop"
