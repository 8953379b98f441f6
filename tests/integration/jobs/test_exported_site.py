"""An exported site is opened as a file, is searched without a server, and runs nothing of what strangers wrote."""

import json
import zipfile
from pathlib import Path

import pytest

from archivebox.base_models.users import system_user
from archivebox.core.models import ArchiveResult, Snapshot
from archivebox.core.tags.assign_tags import tag
from archivebox.export.site.copies import POLICY, without_scripts
from archivebox.jobs.begin import JobRequest, begin
from tests import factories
from tests.job_runner import carried_out
from tests.webserver.browser import Browser

pytestmark = pytest.mark.usefixtures("collection")
RUNS = "<script>document.title = 'ran'</script>"
HOSTILE = (
    f"<!DOCTYPE html><title>Saved</title><p onclick=alert(1)>words{RUNS}<img src=x onerror=\"document.title='ran'\">"
)
ARTICLE = f"<h1>Old ships</h1><p>They sailed.{RUNS}<img src='pictures/a.png'><a href='javascript:alert(1)'>x</a>"
KEPT = {
    "singlefile": {"singlefile.html": ("text/html", HOSTILE)},
    "article": {
        "article.html": ("text/html", ARTICLE),
        "article.txt": ("text/plain", "They sailed to <Lisbon>."),
        "pictures/a.png": ("image/png", "picture"),
        "pictures/a.svg": ("image/svg+xml", "<svg onload=alert(1)>"),
    },
    "screenshot": {"thumbnail.webp": ("image/webp", "small"), "screenshot.webp": ("image/webp", "large")},
    "pdf": {"output.pdf": ("application/pdf", "%PDF-")},
}


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """That of two pages: one with everything, whose title is markup, and one with nothing but a text."""
    full, bare = factories.crawl("https://a.example/", "https://b.example/").snapshot_set.order_by("url")
    Snapshot.objects.filter(pk=full.pk).update(title=f"</title>{RUNS}Ships")
    tag([full.pk], [f"sea {RUNS}"])
    for plugin, files in KEPT.items():
        keep(full, plugin, files)
    keep(bare, "htmltotext", {"content.txt": ("text/plain", "Nothing but words.")})
    request = JobRequest("export", created_by=system_user(), query="", options={"format": "site"})
    done = carried_out(begin(request))
    assert (done.done, done.failed) == (2, 0)
    assert done.file
    with zipfile.ZipFile(done.file) as archive:
        archive.extractall(tmp_path)
    return tmp_path


def keep(snapshot: Snapshot, plugin: str, files: dict[str, tuple[str, str]]) -> None:
    for name, (_, content) in files.items():
        path = snapshot.path / plugin / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    listed = {name: {"size": len(content), "mimetype": media_type} for name, (media_type, content) in files.items()}
    ArchiveResult.objects.create(snapshot=snapshot, plugin=plugin, status="succeeded", output_files=listed)


def page_of(site: Path, host: str) -> Path:
    (folder,) = (site / "pages").glob(f"*-{host}-*")
    return folder


def test_a_page_has_its_article_and_its_copies(site: Path) -> None:
    folder = page_of(site, "a.example")
    names = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert names == {
        "index.html", "saved.html", "singlefile.html", "screenshot.webp", "thumbnail.webp", "pdf.pdf",
        "reader/pictures/a.png",
    }  # fmt: skip
    read = (folder / "index.html").read_text()
    assert "<h1>Old ships</h1>" in read
    assert 'src="reader/pictures/a.png"' in read
    assert "Nothing but words." in (page_of(site, "b.example") / "index.html").read_text()


def test_nothing_that_strangers_wrote_is_markup(site: Path) -> None:
    pages = [*site.glob("*.html"), *site.glob("pages/*/index.html"), *site.glob("pages/*/saved.html")]
    for path in pages:
        html = path.read_text()
        assert "<script>" not in html
        assert "javascript:" not in html
        assert html.index("Content-Security-Policy") < html.index("<title>")
    assert len(pages) == 4
    assert 'sandbox=""' in (page_of(site, "a.example") / "saved.html").read_text()
    data = (site / "site" / "pages-1.js").read_text()
    rows = json.loads(data.removeprefix("found(").removesuffix(");\n"))
    assert [row["text"] for row in rows] == ["Nothing but words.", "They sailed to <Lisbon>."]


@pytest.mark.parametrize(
    ("html", "before"),
    [
        (b"<!doctype html><p>", b"<!doctype html>"),
        (b"\xef\xbb\xbf \n<!DOCTYPE html PUBLIC '-'><p>", b"\xef\xbb\xbf \n<!DOCTYPE html PUBLIC '-'>"),
        (b"<p>no doctype", b""),
        (b"<!-- comment --><!doctype html>", b""),
        (b"\x0b<!doctype html>", b""),
        (b"", b""),
    ],
)
def test_the_policy_of_a_saved_page_comes_before_all_of_its_head(html: bytes, before: bytes) -> None:
    assert b"".join(without_scripts(html)) == before + POLICY + b"<meta charset=utf-8>" + html.removeprefix(before)


def test_a_saved_page_sends_nobody_elsewhere_and_says_its_encoding() -> None:
    start = b'<meta http-equiv="Content-Type" content="text/html; charset=latin-1">'
    html = start + b'<meta content="0; url=https://b.example/"\nHTTP-EQUIV = "&#114;efresh"><p>Write http-equiv here'
    said = b"".join(without_scripts(html)).removeprefix(POLICY + b"<meta charset=utf-8>")
    assert said == html.replace(b"HTTP-EQUIV", b"data-http-equiv")


def test_a_saved_page_in_another_encoding_says_which_itself() -> None:
    assert b"utf-8" not in b"".join(without_scripts("<meta charset=latin-1><p>é".encode("latin-1")))


@pytest.mark.parametrize("mark", [b"\xff\xfe", b"\xfe\xff"])
def test_a_saved_page_whose_policy_would_not_be_read_is_left_out(mark: bytes) -> None:
    assert list(without_scripts(mark + "<p>".encode("utf-16-le"))) == []


@pytest.mark.browser
@pytest.mark.once
def test_the_site_is_searched_as_a_file_and_saved_pages_run_nothing(site: Path, browser: Browser) -> None:
    browser.size(360, 740)
    browser.go((site / "index.html").as_uri())
    browser.value("words.value = 'lisbon'; words.dispatchEvent(new Event('input'))")
    browser.wait_for("document.querySelectorAll('#results li').length == 1", 60)
    assert browser.value("document.querySelector('#results h2').textContent").endswith("Ships")
    assert browser.value("document.documentElement.scrollWidth") == 360
    browser.go(browser.value("document.querySelector('#results h2 a').href"))
    assert browser.value("document.querySelector('.article h1').textContent") == "Old ships"
    assert browser.value("document.documentElement.scrollWidth") == 360
    browser.go((page_of(site, "a.example") / "singlefile.html").as_uri())
    assert browser.value("document.querySelector('p').textContent.startsWith('words')")
    assert browser.value("document.title") == "Saved"
