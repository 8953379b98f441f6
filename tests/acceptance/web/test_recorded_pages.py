"""A recorded page is shown from the archive alone, leads where a person clicks, and reaches nobody else."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest

from tests.site.pictures import png
from tests.site.serve import Site
from tests.webserver.browser import Browser
from tests.webserver.fixtures import Library
from tests.webserver.recording import Page, record
from tests.webserver.server import in_collection

pytestmark = [pytest.mark.browser, pytest.mark.once]
HOSTILE = """<!doctype html><title>waiting</title><base href="LIVE"><link rel="preconnect" href="LIVE">
<link rel="stylesheet" href="LIVE/1"><meta http-equiv="refresh" content="1; url=LIVE/2"><style>@import "LIVE/3";
p{background:u\\72l(LIVE/4)}</style><h1><a id="there" href="http://elsewhere.example/">There</a></h1>
<p style="background:url('LIVE/5')"><img src="LIVE/6" srcset="LIVE/7 2x"><svg><image href="LIVE/8"/></svg>
<iframe src="LIVE/9"></iframe><iframe srcdoc="<img src='LIVE/10'>"></iframe><object data="LIVE/11"></object>
<video poster="LIVE/12" src="LIVE/13"></video><noscript><img src="LIVE/14"></noscript>
<math><mtext><table><mglyph><style><img src="LIVE/15"></style></table></mtext></math><embed src="LIVE/16">
<div><template shadowrootmode="open"><img src="LIVE/17"></template></div><form id="form" action="LIVE/18"></form>
<script>
const said = {cookie: document.cookie}, blocked = () => "blocked", reached = () => "reached";
const attempt = act => { try { return act() || "blocked"; } catch { return "blocked"; } };
const picture = src => new Promise(done => { const i = new Image(); i.onload = () => done("reached");
  i.onerror = () => done("blocked"); i.src = src; });
const file = URL.createObjectURL(new Blob(["x"]));
const link = Object.assign(document.createElement("a"), {href: file, download: "got.txt"});
document.body.append(link); link.click();
document.querySelector("#form").submit();
const tries = {
  api: fetch("APP/health/", {credentials: "include"}).then(reached, blocked),
  form: fetch("APP/add/", {method: "POST", mode: "no-cors", body: "urls=x"}).then(reached, blocked),
  sibling: fetch("SIBLING").then(reached, blocked), live: fetch("LIVE/20").then(reached, blocked),
  picture: picture("LIVE/21"), ours: picture("APP/static/web/favicon.svg"),
  beacon: navigator.sendBeacon("LIVE/22") ? "queued" : "blocked",
  socket: new Promise(done => { try { const s = new WebSocket("LIVE/23".replace("http", "ws"));
    s.onopen = () => done("reached"); s.onerror = () => done("blocked"); } catch { done("blocked"); } }),
  worker: navigator.serviceWorker ? navigator.serviceWorker.register("/sw.js").then(reached, blocked) : "blocked",
  parent: attempt(() => parent.document.title), window: attempt(() => window.open("LIVE/24") && "reached"),
  top: attempt(() => { top.location = "LIVE/25"; return "blocked"; }),
};
Promise.all(Object.entries(tries).map(async ([name, it]) => { said[name] = await it; }))
  .then(() => { document.title = JSON.stringify(said); });
</script>"""


UNMEASURED = "from archivebox.core.models import Snapshot; Snapshot.objects.update(quality=None)"
"""So that no copy opens before the replay."""


@pytest.fixture(scope="module")
def live() -> Iterator[Site]:
    """The live web, which nobody may ask."""
    with Site() as site:
        yield site


@pytest.fixture(scope="module")
def recorded(browser: Browser, library: Library, live: Site) -> str:
    """The address of a recorded page, to a browser that is logged in."""
    for name, value in library.visitor.jar.items():
        browser.set_cookie(library.server.url, name, value)
    words = {
        "LIVE": live.url.rstrip("/"),
        "APP": library.server.url,
        "SIBLING": f"http://{library.other}.localhost:{library.server.replay_port}/",
    }
    hostile = HOSTILE
    for word, value in words.items():
        hostile = hostile.replace(word, value)
    calm = (
        '<!doctype html><link rel="stylesheet" href="/style.css"><body style="margin:0"><h1>'
        '<a id="there" href="http://nowhere.example/page?a=1&amp;b=%2F#part">There</a></h1><img src="p.png">'
        '<img src="p.png" srcset="p.png 1x, lacking.png 2x"><img srcset="p.png 8w, lacking.png 4w" sizes="4px">'
        '<picture><source media="(max-width: 500px)" srcset="lacking.png"><img src="p.png"></picture>'
        '<picture><source media="(prefers-color-scheme: dark)" srcset="lacking.png"><img src="p.png"></picture>'
        '<picture><source media="(min-width: 800px)" srcset="p.png"><img src="lacking.png"></picture>'
        '<p style="background: image-set(&quot;p.png&quot; 1x, &quot;lacking.png&quot; 2x)">'
    )
    record(
        Path(library.folder),
        {
            library.url: Page(status=302, to=urljoin(library.url, "calm")),
            urljoin(library.url, "calm"): Page(calm.encode()),
            urljoin(library.url, "p.png"): Page(png(8, 8, "#c8b428"), "image/png"),
            urljoin(library.url, "/style.css"): Page(b"h1{color:rgb(1,2,3);font-size:40px;margin:0}", "text/css"),
        },
    )
    record(Path(library.other_folder), {library.other_url: Page(hostile.encode())})
    in_collection(Path(library.server.folder), UNMEASURED)
    return f"{library.server.url}/web/latest/{library.url}"


@pytest.mark.default
def test_a_page_is_shown_with_all_that_was_recorded_of_it(browser: Browser, library: Library, recorded: str) -> None:
    browser.go(recorded)
    assert browser.in_frame("document.images[0].naturalWidth") == 8
    assert browser.in_frame("getComputedStyle(document.querySelector('h1')).color") == "rgb(1, 2, 3)"
    assert library.url in browser.value("document.querySelector('#main').innerText")


@pytest.mark.parametrize(("width", "density", "dark"), [(1280, 1, False), (360, 2, True)])
def test_of_pictures_for_several_windows_the_recorded_ones_are_shown_in_each(
    browser: Browser, recorded: str, width: int, density: int, dark: bool
) -> None:
    browser.size(width, 800, dark=dark)
    metrics = {"width": width, "height": 800, "deviceScaleFactor": density, "mobile": width < 500}
    browser.tab.call("Emulation.setDeviceMetricsOverride", metrics)
    try:
        browser.go(recorded)
        assert browser.in_frame("document.images.length === 6 && [...document.images].every(one => one.complete)")
        assert browser.in_frame("[...document.images].map(one => one.naturalWidth > 0)") == [True] * 6
        background = browser.in_frame("getComputedStyle(document.querySelector('p')).backgroundImage")
        assert "/p.png" in background
        assert "lacking" not in background
    finally:
        browser.size(1280, 800)


def test_a_clicked_link_leads_through_the_app_to_the_archived_page_or_an_offer(browser: Browser, recorded: str) -> None:
    browser.size(1280, 800)
    browser.go(recorded)
    browser.in_frame("document.querySelector('#there').click(), document.images[0].naturalWidth")
    top = browser.value("document.querySelector('iframe').getBoundingClientRect().top")
    left = browser.value("document.querySelector('iframe').getBoundingClientRect().left")
    assert "/web/follow/" not in browser.value("location.href"), "a click that nobody made leads nowhere"
    there = "location.href.endsWith('/http://nowhere.example/page?a=1&b=%2F#part')"
    end = time.monotonic() + 90
    while not browser.value(there):
        assert time.monotonic() < end
        browser.click(round(left) + 30, round(top) + 20)  # lost where the frame has not been drawn yet
        time.sleep(0.5)
    browser.wait_for("document.readyState == 'complete'")
    offered = browser.value("document.querySelector('#main form[action=\"/add/\"] [name=urls]').value")
    assert offered == "http://nowhere.example/page?a=1&b=%2F"


def test_without_scripts_a_hostile_page_asks_nobody(
    browser: Browser, library: Library, live: Site, recorded: str
) -> None:
    del recorded
    address = f"{library.server.url}/web/latest/{library.other_url}"
    live.forget()
    browser.go(address)
    assert browser.in_frame("document.querySelector('#there') && document.title") == "waiting"
    browser.go(browser.value("document.querySelector('iframe').src"))
    assert browser.value("document.title") == "waiting", "nor does a script run in a tab"
    assert browser.value("document.cookie") == ""
    assert live.requests == []


@pytest.mark.default
def test_with_scripts_it_reaches_nobody_either(
    browser: Browser, library: Library, live: Site, recorded: str, tmp_path: Path
) -> None:
    del recorded
    live.forget()
    browser.tab.call("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    browser.go(f"{library.server.url}/web/latest/{library.other_url}")
    browser.value("document.querySelector('button[name=scripts]').click()")
    browser.wait_for("document.querySelector('iframe')?.sandbox.contains('allow-scripts')")
    said: dict[str, Any] = json.loads(browser.in_frame("document.title.startsWith('{') && document.title"))
    assert said.pop("cookie") == ""
    assert said.pop("beacon") in {"queued", "blocked"}, "the promise of a beacon says nothing; nobody got it"
    assert set(said.values()) == {"blocked"}
    assert live.requests == []
    assert list(tmp_path.iterdir()) == []
    assert "/web/" in browser.value("location.href")


@pytest.fixture
def without_shim(library: Library) -> Iterator[Browser]:
    """A browser that never gets the shim; its frames are part of its one tab, so that this can be told to it."""
    with Browser("--disable-site-isolation-trials") as browser:
        for name, value in library.visitor.jar.items():
            browser.set_cookie(library.server.url, name, value)
        browser.tab.call("Network.enable")
        browser.tab.call("Network.setBlockedURLs", {"urls": ["*/~/shim.js*"]})
        yield browser


def in_frame_of_tab(browser: Browser, expression: str) -> str:
    """What ``expression`` comes to in the one frame of a page, once it is true."""
    end = time.monotonic() + 90
    while time.monotonic() < end:
        frames = browser.tab.call("Page.getFrameTree")["frameTree"].get("childFrames", [])
        if frames:
            world = browser.tab.call("Page.createIsolatedWorld", {"frameId": frames[0]["frame"]["id"]})
            asked = {"expression": expression, "contextId": world["executionContextId"], "returnByValue": True}
            value = browser.tab.call("Runtime.evaluate", asked)["result"].get("value")
            if value:
                return str(value)
        time.sleep(0.2)
    raise AssertionError(f"never true in the frame: {expression}")


def test_without_the_shim_it_reaches_nobody_either(
    without_shim: Browser, library: Library, live: Site, recorded: str
) -> None:
    del recorded
    live.forget()
    without_shim.go(f"{library.server.url}/web/latest/{library.other_url}")
    without_shim.value("document.querySelector('button[name=scripts]').click()")
    without_shim.wait_for("document.querySelector('iframe')?.sandbox.contains('allow-scripts')")
    said = json.loads(in_frame_of_tab(without_shim, "document.title.startsWith('{') && document.title"))
    assert said.pop("cookie") == ""
    assert said.pop("beacon") in {"queued", "blocked"}
    assert said.pop("worker") == "blocked", "a service worker would outlive the view"
    assert set(said.values()) == {"blocked"}
    assert live.requests == []
    assert "/web/" in without_shim.value("location.href")
