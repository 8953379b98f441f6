"""The Library in a browser: by keys alone, without a complaint of axe, all pictures from one host."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.webserver.browser import Browser
from tests.webserver.fixtures import Library
from tests.webserver.server import in_collection

pytestmark = [pytest.mark.browser, pytest.mark.once]
AXE = "axe-core@4.14.1"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
PATHS = [
    "/?view=cards",
    "/?view=list",
    "/?view=table",
    "/?q=nothing+of+this+name",
    "/?q=is:",
    "/snapshots/{snapshot}/",
    "/snapshots/{snapshot}/?view=files",
    "/snapshots/{other}/",
    "/snapshots/{snapshot}/changes/{other}/",
    "/crawls/",
    "/crawls/{crawl}/",
    "/crawls/{crawl}/?show=queue",
    "/crawls/{crawl}/?show=settings",
    "/add/",
    "/import/",
    "/failures/",
    "/jobs/",
    "/tags/",
    "/schedules/",
    "/schedules/new/",
    "/plugins/",
    "/plugins/screenshot/",
    "/processes/",
    "/processes/{hook}/",
    "/settings/",
    "/people/",
    "/people/record/",
    "/tokens/",
    "/shares/",
    "/personas/",
    "/machines/",
    "/webhooks/",
    "/password/",
    "/api/docs/",
    "/web/2026/http://not.kept.example/",
    "/nowhere/",
]
LISTS = ["/machines/", "/personas/", "/jobs/", "/webhooks/"]
"""Lists whose first entry's own page is looked at as well, where it has one."""


@pytest.fixture(scope="module")
def library(library_with_workers: Library) -> Library:
    """What these tests add is captured: as long as it waits, something moves on each page."""
    return library_with_workers


@pytest.fixture(scope="module")
def inside(browser: Browser, library: Library) -> Browser:
    """The browser, logged in."""
    for name, value in library.visitor.jar.items():
        browser.set_cookie(library.server.url, name, value)
    return browser


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Its script, of the version that is asked for."""
    folder = tmp_path_factory.mktemp("axe")
    subprocess.run(["npm", "install", "--silent", "--prefix", folder, AXE], check=True, timeout=240, cwd=folder)
    return Path(folder, "node_modules", "axe-core", "axe.min.js").read_text()


def press(browser: Browser, *keys: str, **held: bool) -> None:
    for key in keys:
        event = json.dumps({"key": key, "bubbles": True, "shiftKey": key.isupper(), **held})
        browser.value(f"document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {event}))")


def test_pages_are_chosen_and_tagged_by_keys_alone(inside: Browser, library: Library) -> None:
    inside.size(1280, 800)
    inside.go(f"{library.server.url}/?view=list")
    assert inside.value("getComputedStyle(document.getElementById('bulk')).display") == "none"
    press(inside, "j", "x", "j", "j", "X")
    assert inside.value("document.getElementById('chosen').textContent") == "3 selected"
    assert inside.value("getComputedStyle(document.getElementById('bulk')).display") == "flex"
    press(inside, "t")
    assert inside.value("document.activeElement.id") == "bulk-tags"
    inside.value("document.activeElement.value = 'by keys'; document.querySelector('#bulk [value=tag]').click()")
    assert inside.wait_for("document.getElementById('messages').innerText").startswith("Tags added to 3 pages.")


def test_what_is_chosen_is_counted_and_an_export_asks_for_its_format(inside: Browser, library: Library) -> None:
    inside.size(1280, 800)
    inside.go(f"{library.server.url}/?view=list")
    press(inside, "j", "x", "e")
    assert inside.value("document.activeElement.id") == "bulk-format"
    assert inside.value("document.querySelector('#bulk details').open") is True
    inside.value("document.querySelector('#bulk [name=all]').click()")
    assert inside.value("document.getElementById('chosen').textContent") == "All matches"
    inside.value("document.querySelector('#bulk [name=all]').click()")
    assert inside.value("document.getElementById('chosen').textContent") == "1 selected"


def test_what_was_done_is_said_for_a_while(inside: Browser, library: Library) -> None:
    inside.go(f"{library.server.url}/tags/")
    library.visitor.post("/searches/", form_at="/?q=passes", q="passes", name="Passes")
    for name, value in library.visitor.jar.items():
        inside.set_cookie(library.server.url, name, value)
    inside.go(f"{library.server.url}/tags/")
    assert inside.value("document.querySelectorAll('#messages li').length") == 1
    inside.wait_for("document.querySelectorAll('#messages li').length === 0")


def test_from_the_library_to_a_format_and_back_by_keys_alone(inside: Browser, library: Library) -> None:
    inside.size(1280, 800)
    inside.go(f"{library.server.url}/?view=list")
    inside.press("j", "Enter")
    inside.wait_for("location.pathname.startsWith('/snapshots/') && document.readyState === 'complete'")
    inside.press("2")
    inside.wait_for("location.search.startsWith('?view=') && document.readyState === 'complete'")
    inside.tab.call("Page.reload")
    assert inside.wait_for("document.querySelector('.formats [aria-current]')?.dataset.key") == "2"
    inside.value("history.go(-2)")
    assert inside.wait_for("location.pathname === '/' && document.readyState === 'complete'")
    assert inside.value("document.querySelectorAll('[data-row]').length") == 60


def test_a_long_paste_is_counted_before_it_is_taken(inside: Browser, library: Library) -> None:
    inside.go(f"{library.server.url}/")
    inside.press("n")
    inside.wait_for("document.getElementById('adder').open && document.activeElement.name === 'urls'")
    lines = [f"http://new.example/{number}" for number in range(400)]
    given = "\n".join(lines + ["http://site7.example/story/7"] * 60 + ["no url"] * 40)
    inside.tab.call("Input.insertText", {"text": given})
    said = inside.wait_for("document.querySelector('.tally')?.innerText.replace(/\\s+/g, ' ')")
    assert said == "400 new 1 already archived 40 cannot be archived 59 duplicate"


def discard_crawl_of(library: Library, page: str) -> None:
    """Discard the crawl of the page at this path."""
    named = re.search(r'href="(/crawls/[^"]+)"', library.visitor.get(page).text.partition('class="facts"')[2])
    assert named, page
    library.visitor.post(f"{named[1]}do/", form_at=named[1], change="discard")


WARC = (
    "WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: http://warc.example/\r\nContent-Length: 42\r\n\r\n"
    "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n\r\n\r\n"
)
DROP = """(() => { const dropped = new DataTransfer(); dropped.items.add(new File([WARC], "old.warc"));
  document.body.dispatchEvent(new DragEvent("drop", {dataTransfer: dropped, bubbles: true, cancelable: true})); })()"""
PASTE = """(() => { const pasted = new DataTransfer(); pasted.setData("text", TEXT);
  const how = {clipboardData: pasted, bubbles: true, cancelable: true};
  document.body.dispatchEvent(new ClipboardEvent("paste", how)); })()"""


@pytest.mark.parametrize("path", ["/tags/", "/snapshots/{snapshot}/", "/add/"])
def test_what_is_pasted_or_dropped_anywhere_comes_into_the_form(inside: Browser, library: Library, path: str) -> None:
    here = path.format(**vars(library))
    inside.go(library.server.url + here)
    inside.wait_for(f"location.pathname === {json.dumps(here)} && document.readyState === 'complete'")
    inside.value(PASTE.replace("TEXT", json.dumps("see http://pasted.example/ and that"), 1))
    inside.wait_for("document.getElementById('add-form')?.elements.urls.value.includes('pasted.example')")
    inside.wait_for("document.querySelector('.tally')?.innerText.startsWith('1 new')")
    assert inside.value("document.getElementById('adder').open") == (path != "/add/")
    inside.value(DROP.replace("WARC", json.dumps(WARC), 1))
    inside.wait_for("document.querySelector('.tally')?.innerText.startsWith('2 new')")
    came_from = inside.value("document.querySelector('#add-form [name=next]').value")
    assert came_from == ("/" if path == "/add/" else here)


def test_several_pages_added_from_the_library_come_into_it(inside: Browser, library: Library) -> None:
    inside.go(f"{library.server.url}/?view=list")
    inside.press("n")
    inside.wait_for("document.getElementById('adder').open && document.activeElement.name === 'urls'")
    inside.tab.call("Input.insertText", {"text": "http://several.example/1\nhttp://several.example/2"})
    inside.value("document.querySelector('#add-form [value=archive]').click()")
    said = inside.wait_for("document.querySelector('#messages')?.innerText.includes('2 pages') && document.title")
    assert said.startswith("Library")
    assert inside.value("document.querySelectorAll('[data-row] h2')[1].innerText").startswith("several.example/")
    crawl = inside.value("document.querySelector('#messages a').getAttribute('href')")
    library.visitor.post(f"{crawl}do/", form_at=crawl, change="discard")


def test_a_web_archive_that_is_dropped_on_the_form_is_taken(inside: Browser, library: Library) -> None:
    inside.go(f"{library.server.url}/add/")
    inside.value(DROP.replace("WARC", json.dumps(WARC), 1))
    inside.wait_for("document.querySelector('.tally')?.innerText.replace(/\\s+/g, ' ').startsWith('1 new')")
    inside.value("document.querySelector('#add-form [value=archive]').click()")
    inside.wait_for("location.pathname.startsWith('/snapshots/') && document.title.includes('warc.example')")
    discard_crawl_of(library, inside.value("location.pathname"))


@pytest.mark.slow
def test_a_form_that_cannot_be_sent_stays_with_what_was_typed_and_is_sent_later(
    inside: Browser, library: Library
) -> None:
    connected = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    inside.go(f"{library.server.url}/add/")
    inside.value("document.querySelector('#add-form [name=urls]').value = 'http://typed.example/'")
    inside.tab.call("Network.enable")
    inside.tab.call("Network.emulateNetworkConditions", {"offline": True, **connected})
    inside.value("document.querySelector('#add-form [value=archive]').click()")
    inside.wait_for("document.querySelector('#add-form .unsent')?.innerText.includes('cannot be reached')")
    assert inside.value("document.querySelector('#add-form [name=urls]').value") == "http://typed.example/"
    inside.tab.call("Network.emulateNetworkConditions", {"offline": False, **connected})
    inside.value("document.querySelector('#add-form [value=archive]').click()")
    inside.wait_for("location.pathname.startsWith('/snapshots/') && document.title.includes('typed.example')")
    discard_crawl_of(library, inside.value("location.pathname"))


@pytest.mark.default
def test_more_of_the_list_comes_in_its_place(inside: Browser, library: Library) -> None:
    inside.go(f"{library.server.url}/?view=cards")
    assert inside.value("document.querySelectorAll('[data-row]').length") == 60
    inside.value("document.getElementById('further').click()")
    assert inside.wait_for("document.querySelectorAll('[data-row]').length === 70")
    assert inside.wait_for("!document.getElementById('further')")


@pytest.mark.parametrize("view", ["cards", "list"])
def test_back_leads_to_the_place_in_a_list_that_has_grown(inside: Browser, library: Library, view: str) -> None:
    inside.size(1280, 800)
    inside.go(f"{library.server.url}/?view={view}")
    inside.value("document.getElementById('further').click()")
    inside.wait_for("document.querySelectorAll('[data-row]').length === 70")
    inside.value("scrollTo(0, document.body.scrollHeight - 1100)")
    was = inside.value("scrollY")
    inside.value("document.querySelectorAll('[data-row] h2 a')[65].click()")
    inside.wait_for("location.pathname.startsWith('/snapshots/') && document.readyState === 'complete'")
    inside.value("history.back()")
    inside.wait_for("document.querySelectorAll('[data-row]').length === 70 && document.readyState === 'complete'")
    assert inside.wait_for(f"Math.abs(scrollY - {was}) < 2"), (was, inside.value("scrollY"))


def test_the_palette_leads_to_a_page_by_its_title(inside: Browser, library: Library) -> None:
    inside.go(f"{library.server.url}/tags/")
    press(inside, "k", ctrlKey=True)
    inside.value("document.getElementById('palette-q').value = 'Story 42'")
    inside.value("document.getElementById('palette-q').dispatchEvent(new Event('input', {bubbles: true}))")
    inside.wait_for("document.querySelector('#palette a[aria-current]')?.textContent.includes('Story 42')")
    press(inside, "Enter", shiftKey=False)
    assert inside.wait_for("location.pathname.startsWith('/snapshots/') && document.title.startsWith('Story 42')")


def test_the_api_is_read_and_tried_on_a_page_of_its_own(inside: Browser, library: Library) -> None:
    inside.go(f"{library.server.url}/api/docs/")
    assert inside.wait_for("document.querySelectorAll('#api .opblock').length > 60")
    inside.value("document.querySelector('#operations-snapshots-list_snapshots button').click()")
    inside.wait_for("!!document.querySelector('#api .try-out__btn')")
    inside.value("document.querySelector('#api .try-out__btn').click()")
    inside.wait_for("!!document.querySelector('#api .execute')")
    inside.value("document.querySelector('#api .execute').click()")
    shown = inside.wait_for("document.querySelector('#api .live-responses-table tbody')?.innerText")
    assert shown.startswith("200")


def test_on_a_phone_what_was_kept_begins_in_the_upper_half_and_its_format_is_in_view(
    inside: Browser, library: Library
) -> None:
    inside.size(360, 740)
    inside.go(f"{library.server.url}/snapshots/{library.snapshot}/?view=files")
    assert float(inside.value("document.querySelector('.stage').getBoundingClientRect().top")) < 740 / 2
    chosen = "document.querySelector('.formats [aria-current]').getBoundingClientRect()"
    edges = inside.value(f"`${{{chosen}.left}} ${{{chosen}.right}}`")
    left, right = map(float, edges.split())
    assert 0 <= left < right <= 360


CHANGED = "S.objects.filter(pk=sys.argv[1]).update(title=sys.argv[2])"


def test_the_table_shows_a_title_of_a_hundred_letters_whole(inside: Browser, library: Library) -> None:
    title = "What was found of the harvest of pears in the orchards along the river and what came after it " + "x" * 6
    change = f"import sys; from archivebox.core.models import Snapshot as S; {CHANGED}"
    in_collection(Path(library.server.folder), change, library.other, title)
    inside.size(1440, 900)
    inside.go(f"{library.server.url}/?view=table")
    link = f"document.querySelector('[data-row=\"{library.other}\"] th a')"
    assert inside.value(
        f"{link}.scrollHeight <= {link}.clientHeight + 1 && {link}.scrollWidth <= {link}.clientWidth + 1"
    )
    assert float(inside.value(f"{link}.closest('th').getBoundingClientRect().width")) > 320
    assert inside.value(
        f"{link}.closest('table').getBoundingClientRect().right <= document.documentElement.clientWidth"
    )
    in_collection(Path(library.server.folder), change, library.other, "Story 68")


def test_what_narrows_the_list_stands_beside_it(inside: Browser, library: Library) -> None:
    inside.size(1280, 800)
    inside.go(f"{library.server.url}/")
    width = "document.querySelector('{}').getBoundingClientRect().width"
    assert float(inside.value(width.format(".shelf"))) > 3 * float(inside.value(width.format(".facets")))


def test_a_key_tells_the_keys(inside: Browser, library: Library) -> None:
    inside.go(f"{library.server.url}/")
    press(inside, "?")
    assert inside.value("document.getElementById('keys').open") is True


@pytest.mark.default
def test_a_new_page_comes_into_an_open_library(inside: Browser, library: Library) -> None:
    inside.go(f"{library.server.url}/?view=cards")
    assert inside.wait_for("Boolean(document.querySelector('[data-part=running-list] p'))")  # it listens
    inside.value("document.querySelector('.choose input').click()")
    page = library.visitor.post("/add/", urls="http://comes.example/", depth="0").headers["location"]
    try:
        first = "document.querySelector('[data-row] h2').textContent.includes('comes.example')"
        assert inside.wait_for(first)
        assert inside.value("document.getElementById('chosen').textContent") == "1 selected"
    finally:
        discard_crawl_of(library, page)


def test_a_new_crawl_comes_into_the_open_list_of_crawls(inside: Browser, library: Library) -> None:
    inside.go(f"{library.server.url}/crawls/")
    assert inside.wait_for("Boolean(document.querySelector('[data-part=running-list] p'))")  # it listens
    page = library.visitor.post("/add/", urls="http://comes-too.example/", depth="0").headers["location"]
    try:
        assert inside.wait_for("document.querySelector('tbody th').textContent.includes('comes-too.example')")
    finally:
        discard_crawl_of(library, page)


@pytest.mark.parametrize(("width", "dark"), [(360, True), (1440, False)])
def test_axe_has_nothing_to_complain_of(inside: Browser, library: Library, axe: str, width: int, *, dark: bool) -> None:
    inside.size(width, 800, dark=dark)
    found = {}
    paths = [path.format(**vars(library)) for path in PATHS] + _first_of_lists(inside, library)
    for path in paths:
        inside.go(library.server.url + path)
        inside.value("document.querySelectorAll('details:not(.menu)').forEach(one => { one.open = true; })")
        found[path] = complaints(inside, axe)
    assert not any(found.values()), {path: said for path, said in found.items() if said}


def _first_of_lists(inside: Browser, library: Library) -> list[str]:
    """The path of the first entry of each list whose entries have pages of their own."""
    found = []
    for path in LISTS:
        inside.go(library.server.url + path)
        links = "[...document.querySelectorAll('main a')].map(one => one.pathname)"
        others = f"one => one.startsWith({json.dumps(path)}) && one != {json.dumps(path)}"
        found += inside.value(f"{links}.filter({others}).slice(0, 1)")
    return found


def complaints(browser: Browser, axe: str) -> list[list[str]]:
    """Rule and first element of what axe finds on the page as it is."""
    browser.value(f"{axe}; 0")
    options = json.dumps({"runOnly": RULES})
    found: list[list[str]] = browser.value(
        f"axe.run(document, {options}).then(r => r.violations.map(v => [v.id, v.nodes[0].html]))"
    )
    return found


DIALOGS = {
    "keys": ("open('keys')", "document.getElementById('keys').open"),
    "adder": ("document.getElementById('add').click()", "Boolean(document.querySelector('#adder #add-form'))"),
    "palette": (
        "document.dispatchEvent(new KeyboardEvent('keydown', {key: 'k', ctrlKey: true}))",
        "Boolean(document.querySelector('#palette a'))",
    ),
    "drawer": ("document.querySelector('[data-opens=drawer]').click()", "document.getElementById('drawer').open"),
}
"""What opens each, and when it is there."""


@pytest.mark.parametrize(("width", "dark"), [(360, True), (1440, False)])
def test_axe_has_nothing_to_complain_of_in_a_dialog(
    inside: Browser, library: Library, axe: str, width: int, *, dark: bool
) -> None:
    """Once it has arrived: while it fades in its colours are those of nobody."""
    inside.size(width, 800, dark=dark)
    found = {}
    for name, (opens, is_there) in DIALOGS.items():
        inside.go(f"{library.server.url}/?view=list")
        inside.value(f"{opens}; 0")
        assert inside.wait_for(is_there)
        assert inside.value(f"getComputedStyle(document.getElementById('{name}')).animationName") == "arrive"
        arrived = "Promise.all(document.getAnimations({subtree: true}).map(one => one.finished)).then(() => true)"
        assert inside.value(arrived)
        found[name] = complaints(inside, axe)
        paper, behind = (
            inside.value(f"getComputedStyle({one}).backgroundColor")
            for one in ("document.body", "document.documentElement")
        )
        assert behind not in (paper, "rgba(0, 0, 0, 0)"), "the gutter is as dark as the backdrop beside it"
    assert not any(found.values()), {name: said for name, said in found.items() if said}


ADD = """
import os, signal, sys
from archivebox.base_models.users import system_user
from archivebox.core.intake.add_urls import create_crawl
from archivebox.core.intake.request import Seed
killed, *hosts = sys.argv[1:]
if int(killed):
    os.kill(int(killed), signal.SIGKILL)
create_crawl([Seed(f"http://{host}/") for host in hosts], created_by=system_user())
"""
ROWS = "[...document.querySelectorAll('[data-row] h2')].map(title => title.textContent.trim())"
MEANWHILE = [f"meanwhile{number}.example" for number in range(3)]
LATER = "later.example"


def test_an_open_library_misses_and_doubles_nothing_when_its_server_is_killed(
    inside: Browser, library: Library
) -> None:
    inside.go(f"{library.server.url}/?view=cards")
    assert inside.wait_for("Boolean(document.querySelector('[data-part=running-list] p'))")  # it listens
    inside.value("window.isTheSamePage = true")
    before = inside.value(ROWS)
    killed = library.server.processes()["web"]
    in_collection(library.server.folder, ADD, str(killed), *MEANWHILE)
    inside.wait_for(f"{ROWS}.filter(title => title.includes('meanwhile')).length >= 3", 60)
    in_collection(library.server.folder, ADD, "0", LATER)
    inside.wait_for(f"{ROWS}.some(title => title.includes('later'))", 60)
    after = inside.value(ROWS)
    assert after[-len(before) :] == before
    assert sorted(after[: -len(before)]) == sorted([*MEANWHILE, LATER]), "each came once"
    assert after[0] == LATER, "the newest on top"
    assert inside.value("window.isTheSamePage") is True
    assert library.server.processes()["web"] != killed
