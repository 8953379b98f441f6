"""What the hooks keep of ordinary pages."""

from __future__ import annotations

import contextlib
import email
import json
import re
import zlib
from hashlib import sha256
from pathlib import Path

import pytest
from PIL import Image, ImageChops

from tests.plugins_bundled.browser.chain import NAVIGATE, PAGE_HOOKS, Crawl, Outcome, Snapshot
from tests.site.routes import ICON
from tests.site.serve import Site

pytestmark = pytest.mark.browser
SCREENSHOT, PDF, DOM, TITLE, HEADERS, FAVICON, OUTLINKS = PAGE_HOOKS
ACCESSIBILITY, MHTML = "accessibility/on_Snapshot__39_accessibility.py", "mhtml/on_Snapshot__58_mhtml.py"
COLOUR = (0xE7, 0x6F, 0x51)


def captured(crawl: Crawl, site: Site, path: str, **settings: str) -> Snapshot:
    snapshot = crawl.snapshot(path.strip("/").replace("/", "_") or "index", site.url.rstrip("/") + path, **settings)
    outcome = snapshot.navigate()
    assert outcome.status == "succeeded", outcome
    return snapshot


def recorded(crawl: Crawl, site: Site, path: str, **settings: str) -> Snapshot:
    snapshot = crawl.snapshot(path.strip("/").replace("/", "_"), site.url.rstrip("/") + path, **settings)
    recorder = snapshot.record()
    assert snapshot.run(NAVIGATE).status == "succeeded"
    assert recorder.stop().status == "succeeded"
    return snapshot


def holding(secret: bytes, folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and secret in path.read_bytes()]


@pytest.fixture(scope="module")
def colour(crawl: Crawl, site: Site) -> Snapshot:
    return captured(crawl, site, "/colour")


@pytest.fixture(scope="module")
def article(crawl: Crawl, site: Site) -> Snapshot:
    return captured(crawl, site, "/article")


@pytest.mark.default
def test_screenshot_shows_the_colour_and_the_words(colour: Snapshot) -> None:
    assert colour.run(SCREENSHOT).status == "succeeded"
    with Image.open(colour.folder / "screenshot" / "screenshot.png") as picture:
        assert picture.size == (1440, 900)
        pixels = picture.convert("RGB")
        assert pixels.getpixel((5, 890)) == COLOUR
        drawn = sum(count for count, colour in pixels.getcolors(1 << 24) or [] if colour != COLOUR)
    assert drawn > 500, "the word on the page was not drawn"


def test_the_thumbnail_is_the_top_of_the_page_in_a_few_kilobytes(article: Snapshot) -> None:
    assert article.run(SCREENSHOT).status == "succeeded"
    thumbnail = article.folder / "screenshot" / "thumbnail.webp"
    assert thumbnail.stat().st_size < 12_000
    with Image.open(thumbnail) as small, Image.open(article.folder / "screenshot" / "screenshot.webp") as large:
        assert (small.format, small.size) == ("WEBP", (360, 225))
        top = large.convert("L").crop((0, 0, 1440, 900)).resize(small.size)
        differences = ImageChops.difference(top, small.convert("L")).histogram()
    assert sum(level * count for level, count in enumerate(differences)) / (360 * 225) < 8, "the same picture, smaller"


def test_the_browsers_bar_over_json_is_in_no_picture(crawl: Crawl, site: Site) -> None:
    page = captured(crawl, site, "/data.json")
    assert page.run(SCREENSHOT).status == "succeeded"
    with Image.open(page.folder / "screenshot" / "screenshot.png") as picture:
        assert picture.convert("RGB").getpixel((700, 5)) == (255, 255, 255)


def test_full_page_is_a_jpeg_of_the_whole_length(crawl: Crawl, site: Site) -> None:
    tall = captured(crawl, site, "/tall")
    assert tall.run(SCREENSHOT).status == "succeeded"
    with Image.open(tall.folder / "screenshot" / "full.jpg") as picture:
        assert picture.format == "JPEG"
        assert picture.size == (1440, 5000)
        assert like(picture, (100, 4950), (0x83, 0x38, 0xEC))


def test_a_page_of_one_screen_has_no_picture_of_its_length(crawl: Crawl, site: Site) -> None:
    page = captured(crawl, site, "/colour?short")
    (page.folder / "screenshot").mkdir()
    (page.folder / "screenshot" / "full.jpg").write_bytes(b"of an earlier attempt")
    assert page.run(SCREENSHOT).status == "succeeded"
    assert not (page.folder / "screenshot" / "full.jpg").exists()


def test_the_whole_length_has_a_limited_number_of_pixels(crawl: Crawl, site: Site) -> None:
    page = captured(crawl, site, "/long-picture")
    assert page.run(SCREENSHOT).status == "succeeded"
    with Image.open(page.folder / "screenshot" / "full.jpg") as picture:
        assert 9_500_000 < picture.width * picture.height < 10_100_000
        assert picture.height / picture.width == pytest.approx(12_000 / 1440, rel=0.01)
        assert like(picture, (10, picture.height - 10), (0x83, 0x38, 0xEC))


def test_fixed_parts_appear_once_in_a_full_page_screenshot(crawl: Crawl, site: Site) -> None:
    page = captured(crawl, site, "/fixed")
    assert page.run(SCREENSHOT).status == "succeeded"
    with Image.open(page.folder / "screenshot" / "full.jpg") as picture:
        strip = picture.convert("RGB")
        colours = [(255, 0, 0), (0, 128, 0), (0, 0, 255), (255, 165, 0)]
        rows = range(0, strip.height, 10)
        heights = [10 * sum(like(strip, (100, y), colour, 12) for y in rows) for colour in colours]
    assert heights[:3] == pytest.approx([50, 30, 40], abs=10), "a bar above, one that sticks, one below"
    assert heights[3] == pytest.approx(900 - 50 - 40, abs=20), "the first part is as high as the window"


def test_other_looks_are_kept_where_they_are_wished_for(crawl: Crawl, site: Site) -> None:
    page = captured(crawl, site, "/looks")
    assert page.run(SCREENSHOT, SCREENSHOT_DARK="true", SCREENSHOT_PHONE="true").status == "succeeded"
    folder = page.folder / "screenshot"
    with Image.open(folder / "dark.png") as dark:
        assert (dark.size, dark.convert("RGB").getpixel((5, 5))) == ((1440, 900), (17, 17, 34))
    with Image.open(folder / "phone.png") as phone:
        assert (phone.size, phone.convert("RGB").getpixel((5, 5))) == ((780, 1688), (255, 220, 220))
    with Image.open(folder / "screenshot.png") as light:
        assert light.convert("RGB").getpixel((5, 5)) == (255, 255, 255)

    page.run(SCREENSHOT)

    with Image.open(folder / "screenshot.png") as again:
        assert (again.size, again.convert("RGB").getpixel((5, 5))) == ((1440, 900), (255, 255, 255)), "it is as it was"
    assert not [*folder.glob("dark.*"), *folder.glob("phone.*")]


def test_a_page_without_a_dark_look_has_no_picture_of_it(crawl: Crawl, site: Site) -> None:
    page = captured(crawl, site, "/colour?dark")
    assert page.run(SCREENSHOT, SCREENSHOT_DARK="true").status == "succeeded"
    assert not [*(page.folder / "screenshot").glob("dark.*")]


def like(picture: Image.Image, place: tuple[int, int], colour: tuple[int, int, int], least: int = 8) -> bool:
    """Whether a pixel of a JPEG is of that colour."""
    found = picture.convert("RGB").getpixel(place)
    assert isinstance(found, tuple)
    return all(abs(one - other) < least for one, other in zip(found, colour, strict=True))


def letters(pdf: bytes) -> set[str]:
    """The letters that can be copied out of a PDF: what its fonts' ToUnicode tables name (PDF 32000-1, 9.10.3)."""
    found: set[str] = set()
    for packed in re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf, re.DOTALL):
        with contextlib.suppress(zlib.error):
            text = zlib.decompress(packed)
            for single in re.findall(rb"^<[0-9A-F]+> <([0-9A-F]{4})>$", text, re.MULTILINE):
                found.add(chr(int(single, 16)))
            for first, last, start in re.findall(rb"<([0-9A-F]+)> <([0-9A-F]+)> <([0-9A-F]{4})>", text):
                found.update(chr(int(start, 16) + step) for step in range(int(last, 16) - int(first, 16) + 1))
    return found


@pytest.mark.default
def test_pdf_has_the_words_of_the_page(colour: Snapshot) -> None:
    assert colour.run(PDF).status == "succeeded"
    data = (colour.folder / "pdf" / "output.pdf").read_bytes()
    assert data.startswith(b"%PDF-")
    assert data.rstrip().endswith(b"%%EOF")
    assert set("ARCHIVED") <= letters(data)


def test_a_picture_that_lacks_the_end_of_a_page_says_so(crawl: Crawl, site: Site) -> None:
    outcome = captured(crawl, site, "/modern/tower.html").run(SCREENSHOT)
    assert outcome.result is not None, outcome
    assert outcome.result["output_str"].endswith(": full.jpg has the first 16,000 px of 20,000")


def test_what_appears_by_scrolling_is_printed_as_it_is_then(crawl: Crawl, site: Site) -> None:
    page = captured(crawl, site, "/modern/scroll-driven")
    outcome = page.run(PDF)
    assert outcome.status == "succeeded", outcome
    data = (page.folder / "pdf" / "output.pdf").read_bytes()
    assert not re.search(rb"/ca 0?\.", data), "nothing is half transparent"


def test_a_page_with_too_many_elements_is_neither_drawn_whole_nor_printed(crawl: Crawl, site: Site) -> None:
    big = captured(crawl, site, "/big-dom?elements=60000")
    assert big.run(SCREENSHOT).status == "succeeded"
    assert not (big.folder / "screenshot" / "full.jpg").exists()
    for hook in (PDF, ACCESSIBILITY):
        outcome = big.run(hook)
        assert (outcome.code, outcome.status) == (10, "skipped"), outcome
    assert not list((big.folder / "pdf").iterdir())


def test_a_long_page_is_printed_up_to_a_limit_and_says_so(crawl: Crawl, site: Site) -> None:
    outcome = captured(crawl, site, "/tall", PDF_MAX_PAGES="2").run(PDF)
    assert outcome.result is not None
    assert outcome.result["output_json"] == {"pages": 2, "cut": True}
    assert re.fullmatch(r"output\.pdf: the first 2 sheets of at least [\d,]+", outcome.result["output_str"])


def test_mhtml_holds_the_page_and_its_pictures(article: Snapshot) -> None:
    assert article.run(MHTML).status == "succeeded"
    whole = email.message_from_bytes((article.folder / "mhtml" / "page.mhtml").read_bytes())
    parts = {part.get_content_type() for part in whole.walk()}
    assert {"text/html", "text/css", "image/png"} <= parts


def test_mhtml_is_not_kept_beside_a_page_of_singlefile(colour: Snapshot) -> None:
    (colour.folder / "singlefile").mkdir()
    (colour.folder / "singlefile" / "singlefile.html").touch()
    assert colour.run(MHTML).status == "skipped"
    assert colour.run(MHTML, MHTML_ALWAYS="true").status == "succeeded"


def test_accessibility_is_what_a_screen_reader_says_in_its_order(article: Snapshot) -> None:
    assert article.run(ACCESSIBILITY).status == "succeeded"
    lines = (article.folder / "accessibility" / "accessibility.jsonl").read_text().splitlines()
    said = [json.loads(line) for line in lines]
    assert said[0] | {"depth": 0, "role": "RootWebArea", "name": "On Keeping Pages - The Local Web"} == said[0]
    headings = [(each["level"], each["name"]) for each in said if each["role"] == "heading"]
    assert headings[0] == (1, "On Keeping Pages")
    assert {each["role"] for each in said} >= {"link", "image", "paragraph"}
    assert sum(each.get("name") == "On Keeping Pages" for each in said) == 1, "a text is said once"


@pytest.mark.default
def test_title_is_a_patch_of_its_snapshot(colour: Snapshot) -> None:
    outcome = colour.run(TITLE)
    assert {"type": "Snapshot", "id": "s1", "title": "Colour"} in outcome.records
    assert outcome.status == "succeeded"


def test_title_white_space_and_entities_are_read_as_a_browser_does(crawl: Crawl, site: Site) -> None:
    page = captured(crawl, site, "/title-entities")
    title = next(record["title"] for record in page.run(TITLE).records if record["type"] == "Snapshot")
    assert title == " ".join(title.split())
    assert "&amp;" not in title


@pytest.mark.default
def test_dom_is_what_scripts_left(crawl: Crawl, site: Site) -> None:
    page = captured(crawl, site, "/alert")
    assert page.run(DOM).status == "succeeded"
    html = (page.folder / "dom" / "output.html").read_text()
    assert html.lower().startswith("<!doctype html>")
    assert "not answered" not in html, "the page's script ran to its end, its dialogs were answered"
    assert "[false,null]" in html, "a question is refused, not accepted"


@pytest.mark.default
def test_headers_hold_the_redirects_and_what_went_over_the_wire(crawl: Crawl, site: Site) -> None:
    page = recorded(crawl, site, "/redirect")
    assert page.run(HEADERS).status == "succeeded"
    record = page.json("headers/headers.json")
    assert [hop["response"]["status"] for hop in record["redirects"]] == [301, 302]
    assert record["final_url"].endswith("/article")
    assert record["status"] == 200
    sent = {name.lower() for name in record["request"]["headers"]}
    assert {"host", "user-agent", "accept-encoding"} <= sent
    received = {name.lower(): value for name, value in record["response"]["headers"].items()}
    assert received["content-type"].startswith("text/html")


def test_cookies_that_were_sent_are_not_kept(crawl: Crawl, site: Site) -> None:
    cookies = crawl.root / "cookies.txt"
    cookies.write_text("# Netscape HTTP Cookie File\n127.0.0.1\tFALSE\t/\tFALSE\t0\tsession\tsecret-of-mine\n")
    page = recorded(crawl, site, "/colour", COOKIES_FILE=str(cookies))
    assert any("secret-of-mine" in hit.headers.get("cookie", "") for hit in site.requests), "the site did get it"
    assert not holding(b"secret-of-mine", page.folder / "responses")


@pytest.mark.parametrize("asked_for", [False, True])
def test_headers_of_the_settings_are_kept_only_if_asked_for(crawl: Crawl, site: Site, asked_for: bool) -> None:
    wish = {"CHROME_EXTRA_HEADERS": json.dumps({"X-Token": "secret-token"}), "CHROME_SAVE_SECRETS": str(asked_for)}
    page = recorded(crawl, site, f"/colour?{asked_for}", **wish)
    assert page.run(HEADERS).status == "succeeded"
    hit = next(hit for hit in reversed(site.requests) if hit.path == f"/colour?{asked_for}")
    assert hit.headers["x-token"] == "secret-token"
    assert (b"secret-token" in (page.folder / "headers" / "headers.json").read_bytes()) == asked_for
    assert bool(holding(b"secret-token", page.folder / "responses")) == asked_for


def test_headers_and_user_agent_of_the_settings_are_sent(crawl: Crawl, site: Site) -> None:
    settings = {"USER_AGENT": "Keeper/1.0", "CHROME_EXTRA_HEADERS": json.dumps({"X-Keeper": "yes"})}
    captured(crawl, site, "/echo", **settings)
    hit = next(hit for hit in reversed(site.requests) if hit.path == "/echo")
    assert hit.headers["user-agent"] == "Keeper/1.0"
    assert hit.headers["x-keeper"] == "yes"


def test_the_word_headless_is_not_sent(colour: Snapshot, site: Site) -> None:
    assert colour.tab is not None
    hit = next(hit for hit in site.requests if hit.path == "/colour")
    assert "Chrome/" in hit.headers["user-agent"]
    assert "Headless" not in hit.headers["user-agent"]


def test_favicon_is_the_icon_the_site_has(colour: Snapshot) -> None:
    outcome = colour.run(FAVICON)
    assert outcome.status == "succeeded", outcome
    assert outcome.result is not None
    with Image.open(colour.folder / "favicon" / outcome.result["output_str"]) as picture:
        assert picture.width >= 16


def test_the_icon_of_a_page_with_a_strict_policy_is_kept_too(crawl: Crawl, site: Site) -> None:
    page = captured(crawl, site, "/csp")
    assert page.run(FAVICON).status == "succeeded"
    assert (page.folder / "favicon" / "favicon.ico").read_bytes() == ICON


def test_an_icon_that_broke_off_in_a_tab_that_was_killed_is_fetched_again(crawl: Crawl, site: Site) -> None:
    page = captured(crawl, site, "/article")
    recording = page.folder / "responses"
    recording.mkdir(exist_ok=True)
    torn = {"url": site.url_for("/favicon.ico"), "method": "GET", "status": 200, "size": 0, "truncated": "time"}
    kept = {"session": "of a dead tab", "sha256": sha256(b"").hexdigest(), "record": "r", "warc": "w", "offset": 0}
    with (recording / "index.jsonl").open("a") as index:
        index.write(json.dumps(torn | kept) + "\n")
    assert page.run(FAVICON).status == "succeeded"
    assert (page.folder / "favicon" / "favicon.ico").read_bytes() == ICON


@pytest.mark.default
def test_outlinks_are_absolute_and_without_fragment(crawl: Crawl, site: Site) -> None:
    page = captured(crawl, site, "/")
    outcome = page.run(OUTLINKS)
    urls = [record["url"] for record in outcome.records if record["type"] == "Snapshot"]
    assert len(urls) > 20
    assert len(urls) == len(set(urls))
    assert all(url.startswith(("http://", "https://")) and "#" not in url for url in urls)
    lines = (page.folder / "parse_dom_outlinks" / "urls.jsonl").read_text().splitlines()
    assert [json.loads(line)["url"] for line in lines] == urls


def test_outlinks_in_open_shadow_roots_are_found(crawl: Crawl, site: Site) -> None:
    outcome = captured(crawl, site, "/shadow").run(OUTLINKS)
    urls = [record["url"] for record in outcome.records if record["type"] == "Snapshot"]
    assert urls == [site.url_for(path) for path in ("/article", "/tree/", "/colour", "/unicode")]


@pytest.mark.parametrize("way", ["/js-redirect", "/meta-refresh"])
def test_the_page_that_a_page_leads_to_is_the_one_kept(crawl: Crawl, site: Site, way: str) -> None:
    page = captured(crawl, site, way)
    assert page.json("chrome/navigation.json")["final_url"].endswith("/article")
    assert page.run(TITLE).status == "succeeded"


@pytest.mark.parametrize(
    ("path", "mime"),
    [
        ("/feed.rss", "application/rss+xml"),
        ("/opml", "text/x-opml"),
        ("/no-type", "text/html"),
        ("/attached", "application/octet-stream"),  # hooks for pages have nothing to look at
    ],
)
def test_the_type_is_what_the_server_declares_and_not_what_the_browser_shows_it_as(
    crawl: Crawl, site: Site, path: str, mime: str
) -> None:
    outcome = crawl.snapshot(path.strip("/"), site.url_for(path)).navigate()
    (told,) = (one for one in outcome.records if one["type"] == "Snapshot")
    assert (outcome.status, told["mime_type"]) == ("succeeded", mime)


@pytest.mark.parametrize(
    ("path", "mime"), [("/file.pdf", "application/pdf"), ("/huge.bin", "application/octet-stream")]
)
def test_a_file_is_marked_and_page_hooks_leave_it_alone(crawl: Crawl, site: Site, path: str, mime: str) -> None:
    page = captured(crawl, site, path)
    record = page.json("chrome/navigation.json")
    assert (record["static"], record["mime"]) == (True, mime)
    outcomes: list[Outcome] = [page.run(hook) for hook in (SCREENSHOT, TITLE)]
    assert [(outcome.code, outcome.status) for outcome in outcomes] == [(10, "skipped")] * 2


@pytest.mark.default
def test_a_hook_leaves_no_temporary_file(colour: Snapshot) -> None:
    left = [path.name for path in colour.folder.rglob("*") if path.name.endswith(".tmp")]
    assert not left
