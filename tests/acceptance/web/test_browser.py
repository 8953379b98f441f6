"""What a browser shows: archived scripts reach nothing of ours, and pages fit every screen."""

from __future__ import annotations

import json
import re
from urllib.parse import unquote

import pytest

from tests.marks import first_by_default
from tests.site.serve import Site
from tests.webserver.browser import Browser
from tests.webserver.fixtures import Library

pytestmark = [pytest.mark.browser, pytest.mark.once]
FRAME = """new Promise(done => {
  const frame = document.querySelector('iframe');
  done(frame ? frame.src : '');
})"""


@pytest.fixture(scope="module")
def inside(browser: Browser, library: Library) -> Browser:
    """The browser, logged in under both names of this machine."""
    for name, value in library.visitor.jar.items():
        for host in ("127.0.0.1", "localhost"):
            browser.set_cookie(f"http://{host}:{library.server.port}", name, value)
    return browser


def address(library: Library, host: str) -> str:
    """Where the hostile page of the snapshot is, as the app tells somebody who reached it as ``host``."""
    page = library.server.ask(
        f"/snapshots/{library.snapshot}/?view=singlefile",
        host=f"{host}:{library.server.port}",
        Cookie=f"archivebox_session={library.visitor.jar['archivebox_session']}",
    ).text
    found = re.search(r'<iframe src="([^"]+)"', page)
    assert found, page
    return found.group(1)


@pytest.mark.default
@first_by_default(1, "host", ["127.0.0.1", "localhost"])
def test_an_archived_script_reaches_no_cookie_no_api_and_not_the_page_around_it(
    inside: Browser, library: Library, host: str
) -> None:
    inside.go(f"http://{host}:{library.server.port}/snapshots/{library.snapshot}/?view=singlefile")
    inside.value("document.querySelector('button[name=scripts]').click()")
    inside.wait_for("document.querySelector('iframe')?.sandbox.contains('allow-scripts')")
    assert f"{library.snapshot}.localhost" in inside.value(FRAME)
    said = json.loads(inside.in_frame("document.title.startsWith('{') && document.title"))
    assert said == {"cookie": "", "parent": "blocked", "tries": ["blocked"] * 5}
    assert inside.value("document.querySelector('iframe').contentDocument") is None
    assert inside.value("document.title").startswith("Story 69")


def test_no_archived_script_runs_before_that_nor_in_a_tab(inside: Browser, library: Library) -> None:
    inside.go(f"{library.server.url}/snapshots/{library.snapshot}/?view=singlefile")
    assert inside.in_frame("document.querySelector('#out') && document.title") == "waiting"
    inside.go(address(library, "localhost"))
    assert inside.value("document.querySelector('h1').textContent") == "Archived"
    assert inside.value("document.title") == "waiting"


def test_on_a_shared_host_its_script_does_not_run(inside: Browser, library: Library) -> None:
    own = address(library, "localhost")
    shared = re.sub(r"//[^/]+/", f"//127.0.0.1:{library.server.replay_port}/", own)
    inside.go(shared)
    assert inside.value("document.querySelector('h1').textContent") == "Archived"
    assert inside.value("document.title") == "waiting"
    assert inside.value("location.origin !== 'null' && self.origin") == "null", "its origin is nobody's"


def test_the_list_shows_the_picture_from_the_replay_origin(inside: Browser, library: Library) -> None:
    inside.go(f"{library.server.url}/")
    assert inside.wait_for("document.querySelector('.thumb img').naturalWidth") == 64


SMALL = """(least => {
  const reach = e => {  // of a row that is a target, its link reaches over the row
    const own = e.getBoundingClientRect(), over = getComputedStyle(e, '::after');
    const more = over.position === 'absolute' ? [parseFloat(over.width), parseFloat(over.height)] : [0, 0];
    return own.width ? Math.min(Math.max(own.width, more[0]), Math.max(own.height, more[1])) : least;
  };
  const isAlone = e => e.parentElement.textContent.trim() === e.textContent.trim();
  const reads = e => getComputedStyle(e).display === 'inline' && !isAlone(e);
  const fields = 'input:not([type=hidden], [type=checkbox]), .choose, select, textarea';
  const links = [...document.querySelectorAll(innerWidth > 768 ? '.none' : 'main a[href]')].filter(e => !reads(e));
  const targets = [...document.querySelectorAll(`.rail a, .top a, button, .button, summary, ${fields}`), ...links];
  return targets.filter(e => e.checkVisibility() && reach(e) < least - .5).map(e => e.outerHTML);
})"""


@pytest.mark.parametrize("width", [360, 768, 1280])
@pytest.mark.parametrize(
    "path",
    ["/", "/?view=table", "/snapshots/{snapshot}/", "/crawls/", "/crawls/{crawl}/", "/add/", "/tags/", "/password/",
     "/failures/", "/processes/"],
)  # fmt: skip
def test_every_page_fits_every_screen_with_targets_for_fingers(
    inside: Browser, library: Library, width: int, path: str
) -> None:
    inside.size(width, 800)
    inside.go(library.server.url + path.format(snapshot=library.snapshot, crawl=library.crawl))
    assert inside.value("document.documentElement.scrollWidth") <= width
    outside = (
        "[...document.querySelectorAll('.rail *, .top *, main button, main input, main select, main textarea')]"
        ".filter(e => e.checkVisibility()).map(e => e.getBoundingClientRect())"
        ".filter(r => r.width && r.left >= 0 && r.right > innerWidth + .5).length"
    )
    assert inside.value(outside) == 0
    least = 44 if width <= 768 else 32  # a mouse is surer than a finger
    assert inside.value(f"{SMALL}({least})") == []


CONTRAST = """(() => {
  const number = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => { const f = c => (c /= 255) <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4;
    return .2126 * f(r) + .7152 * f(g) + .0722 * f(b); };
  const below = e => { for (; e; e = e.parentElement) { const c = number(getComputedStyle(e).backgroundColor);
    if (c.length === 3 || c[3] > .99) return c; } return [255, 255, 255]; };
  const poor = [];
  for (const e of document.querySelectorAll('body *')) {
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) || !e.getClientRects().length) continue;
    if (['SCRIPT', 'STYLE', 'NOSCRIPT', 'OPTION'].includes(e.tagName)) continue;
    const [a, b] = [light(number(getComputedStyle(e).color)), light(below(e))];
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < 4.5) poor.push(`${ratio.toFixed(2)} ${e.outerHTML.slice(0, 100)}`);
  }
  return poor;
})()"""


ICON = """(place => {
  const icon = new Image();
  document.querySelector(place).prepend(icon);
  const colour = getComputedStyle(icon).backgroundColor.match(/[\\d.]+/g).map(Number);
  icon.remove();
  return colour;
})"""


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/?view=cards", ".where"),
        ("/?view=list", ".where"),
        ("/?view=table", ".sheet tbody th"),
        ("/snapshots/{snapshot}/", ".head h1"),
    ],
)
def test_a_black_icon_of_a_site_has_a_light_ground_in_dark(
    inside: Browser, library: Library, path: str, place: str
) -> None:
    inside.size(1280, 900, dark=True)
    inside.go(library.server.url + path.format(snapshot=library.snapshot))
    ground = inside.value(f"{ICON}({json.dumps(place)})")
    assert len(ground) == 3, "it is opaque"
    assert min(ground) > 200


HUES = """(ground => {
  const pixel = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const light = colour => { pixel.fillStyle = colour; pixel.fillRect(0, 0, 1, 1);
    const f = c => (c /= 255) <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4;
    const [r, g, b] = pixel.getImageData(0, 0, 1, 1).data;
    return .2126 * f(r) + .7152 * f(g) + .0722 * f(b); };
  const ratio = (a, b) => (Math.max(light(a), light(b)) + .05) / (Math.min(light(a), light(b)) + .05);
  const one = document.body.appendChild(document.createElement('p')), found = [];
  for (let hue = 0; hue < 360; hue += 15) {
    one.dataset.hue = hue;
    const colours = ['accent', 'accent-ink', 'accent-soft', 'paper', 'sheet'].map(name => {
      one.style.color = `var(--${name})`; return getComputedStyle(one).color; });
    const [accent, ink, soft, paper, sheet] = colours;
    found.push(...[[accent, paper], [accent, sheet], [accent, soft], [ink, accent]].map(pair => ratio(...pair)));
  }
  one.remove();
  return found;
})()"""


@pytest.mark.parametrize("dark", [False, True])
def test_words_in_the_hue_of_a_page_stand_out_whatever_hue_that_is(
    inside: Browser, library: Library, *, dark: bool
) -> None:
    inside.size(1280, 900, dark=dark)
    inside.go(library.server.url)
    found = inside.value(HUES)
    assert len(set(found)) > 48
    assert min(found) >= 4.5


def test_the_bookmark_takes_a_page_of_another_site_to_the_form(inside: Browser, library: Library, site: Site) -> None:
    inside.go(f"http://localhost:{library.server.port}/add/")
    assert "Archive this page" in inside.value("document.getElementById('bookmark').textContent")
    assert inside.value("document.getElementById('bookmark').click(), location.pathname") == "/add/"
    code = unquote(inside.value("document.getElementById('bookmark').href").removeprefix("javascript:"))
    inside.go(site.url_for("/article"))
    inside.value(code.replace(",'_blank','noopener'", ",'_self'"))  # where the test can see it
    inside.wait_for("location.pathname === '/add/' && document.readyState === 'complete'")
    assert inside.value("document.getElementById('id_urls').value") == site.url_for("/article")
    assert "On Keeping Pages" in inside.value("document.getElementById('id_title').value")
