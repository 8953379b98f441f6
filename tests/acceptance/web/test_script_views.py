"""Pages that live by their scripts come to life from what was recorded, on an origin of their own."""

from __future__ import annotations

import contextlib
import json
import select
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.site.pictures import png
from tests.webserver.browser import Browser
from tests.webserver.fixtures import Library
from tests.webserver.recording import Page, record_all
from tests.webserver.server import in_collection

pytestmark = [pytest.mark.browser, pytest.mark.once]
SNAPSHOT = """
import sys
from django.contrib.auth.models import User
from archivebox.core.intake.add_urls import create_crawl
from archivebox.core.intake.request import CrawlRequest, Seed
from archivebox.core.models import Snapshot
from tests.status_triggers import arrange
crawl = create_crawl([Seed(sys.argv[1])], CrawlRequest(hold=True), created_by=User.objects.get(username="eve"))
arrange(Snapshot.objects.filter(crawl=crawl), status="sealed", retry_at=None)
one = Snapshot.objects.get(crawl=crawl)
print(one.pk, one.path)
"""
VIOLATIONS = """
import sys
from archivebox.replay.models import ScriptView
print(sum(ScriptView.objects.filter(snapshot=sys.argv[1]).values_list("violation_count", flat=True)))
"""


@dataclass
class View:
    """A page whose scripts run."""

    browser: Browser
    library: Library
    snapshot: str

    def refused(self) -> int:
        return int(in_collection(self.library.server.folder, VIOLATIONS, self.snapshot))


@pytest.fixture
def view(library: Library, browser: Browser) -> Iterator[View]:
    for name, value in library.visitor.jar.items():
        browser.set_cookie(library.server.url, name, value)
    browser.size(1280, 900)
    yield View(browser, library, "")
    browser.go("about:blank")


def run(view: View, url: str, pages: list[tuple[str, Page]]) -> None:
    """Record a page, open it, and run its scripts."""
    server = view.library.server
    view.snapshot, folder = in_collection(server.folder, SNAPSHOT, url).split()
    record_all(Path(folder), pages)
    view.browser.go(f"{server.url}/web/latest/{url}")
    view.browser.value("document.querySelector('button[name=scripts]').click()")
    view.browser.wait_for("document.querySelector('iframe')?.sandbox.contains('allow-scripts')")


LINKS = ("prefetch", "preload", "modulepreload", "prerender", "icon", "stylesheet", "manifest", "preconnect")
TRIES = {
    **{f"link {rel}": f"add('link', {{rel: '{rel}', as: 'script', href: there}})" for rel in LINKS},
    "rules prefetch": "rules('prefetch', there)",
    "rules prerender": "rules('prerender', there)",
    "event source": "new clean.EventSource(there)",
    "web socket": "new clean.WebSocket(there.replace('http', 'ws'))",
    "fetch": "clean.fetch(there, {mode: 'no-cors', keepalive: true}).catch(() => 0)",
    "fetch later": "clean.fetchLater?.(there, {activateAfter: 0})",
    "transport": "new clean.WebTransport(there.replace('http', 'https'))",
    "beacon": "clean.navigator.sendBeacon(there)",
    "ping": "{ const a = add('a', {href: '#x', ping: there}); a.click(); }",
    "picture": "add('img', {src: there})",
    "media": "add('video', {src: there})",
    "object": "add('object', {data: there})",
    "frame": "add('iframe', {src: there})",
    "window": "clean.open(there)",
    "worker": "new clean.Worker(URL.createObjectURL(new Blob([`fetch('${there}')`])))",
    "style": "add('div', {style: `background: url(${there})`})",
    "font": "new clean.FontFace('x', `url(${there})`).load().catch(() => 0)",
    "form": "{ const form = add('form', {action: there}); form.submit(); }",
    "location": "clean.setTimeout(() => { clean.location.href = there; })",
    "refresh": "add('meta', {httpEquiv: 'refresh', content: `0; url=${there}`})",
}
"""Ways to reach a server, each from a window that has no shim."""
CONNECTING = """<!doctype html><title>waiting</title><body><script>
const opened = document.body.appendChild(document.createElement("iframe"));
const clean = opened.contentWindow, inside = opened.contentDocument;
const add = (name, about) => {
  const element = inside.createElement(name);
  for (const [key, value] of Object.entries(about)) clean.Element.prototype.setAttribute.call(element, key, value);
  Object.assign(element, about.httpEquiv ? about : {});
  return inside.body.appendChild(element);
};
const rules = (kind, there) => {
  const script = inside.createElement("script");
  script.type = "speculationrules";
  script.textContent = JSON.stringify({[kind]: [{source: "list", urls: [there], eagerness: "immediate"}]});
  inside.head.append(script);
  document.head.append(script.cloneNode(true));
};
const attempt = (act, port) => { try { act(`http://127.0.0.1:${port}/`); } catch (error) { console.log(error); } };
ATTEMPTS
setTimeout(() => { document.title = "done"; }, 3000);
</script>"""


AHEAD = {"link preconnect", "frame", "location"}
"""For these Chromium opens a connection before it asks the policy, and says nothing over it."""


def test_nothing_that_a_script_does_sends_a_byte_anywhere(view: View) -> None:
    with contextlib.ExitStack() as stack:
        listening = {name: stack.enter_context(socket.create_server(("127.0.0.1", 0))) for name in TRIES}
        attempts = [f"attempt(there => {TRIES[name]}, {one.getsockname()[1]});" for name, one in listening.items()]
        url = "http://connecting.example/"
        run(view, url, [(url, Page(CONNECTING.replace("ATTEMPTS", "\n".join(attempts)).encode()))])
        assert view.browser.in_frame("document.title == 'done'")
        opened = {name: one for name, one in listening.items() if select.select([one], [], [], 0)[0]}
        assert opened.keys() <= AHEAD
        connections = [stack.enter_context(one.accept()[0]) for one in opened.values()]
        assert select.select(connections, [], [], 1)[0] == []
    assert view.refused() > 0, "what was refused is counted"


CDN, HOME = "https://cdn.example", "https://shop.example"
ASKING = """<!doctype html><title>waiting</title><body><base href="/dir/"><script>
const CDN = "https://cdn.example", said = {}, tell = (name, what) => { said[name] = what; };
const loaded = (element, name) => new Promise(done => {
  element.onload = () => done("loaded"); element.onerror = () => done("failed"); document.body.append(element); });
const size = picture => new Promise(done => { picture.onload = () => done(picture.naturalWidth);
  picture.onerror = () => done("failed"); });
const xhr = (method, url, body) => new Promise(done => { const one = new XMLHttpRequest(); one.open(method, url);
  one.onload = () => done(`${one.status} ${one.responseText} ${one.responseURL}`); one.send(body); });
const message = worker => new Promise(done => { worker.onmessage = event => done(event.data);
  worker.onerror = event => done("failed " + event.message); });
const fromText = (text, options) => message(new Worker(URL.createObjectURL(new Blob([text])), options));
const first = tag => document.body.appendChild(document.createElement(tag));
const tries = {
  relative: async () => (await fetch("data.json")).json(),
  elsewhere: async () => { const a = await fetch(CDN + "/data.json"); return [a.url, (await a.json()).from]; },
  request: async () => (await fetch(new Request(CDN + "/echo", {method: "PUT", body: "put"}))).text(),
  posted: async () => (await fetch(new URL("/echo", location),
    {method: "POST", body: new URLSearchParams({a: 1, b: 2})})).text(),
  missing: () => fetch("/nothing").then(() => "found", error => error.name),
  xhr: () => xhr("GET", CDN + "/text"),
  script: () => loaded(Object.assign(document.createElement("script"), {src: "//cdn.example/lib.js"})),
  imported: async () => (await import(CDN + "/module.js")).default,
  picture: () => size(Object.assign(new Image(), {src: CDN + "/p.png"})),
  attribute: () => { const one = new Image(); one.setAttribute("srcset", CDN + "/p.png 1x"); return size(one); },
  html: () => { const box = first("div");
    box.innerHTML = `<img src="${CDN}/p.png"><b style="background:url(${CDN}/p.png)">`; return size(box.firstChild); },
  template: () => { const one = document.createElement("template"); one.innerHTML = `<img src="${CDN}/p.png">`;
    document.body.append(one.content.cloneNode(true)); return size(document.body.lastElementChild); },
  styled: async () => { const box = first("p"); box.style.backgroundImage = `url("${CDN}/p.png")`; await 0;
    return getComputedStyle(box).backgroundImage.replace(location.origin, ""); },
  sheet: async () => { const style = first("style");
    style.textContent = `p { color: red; background: url(${CDN}/p.png) }`;
    await 0; return style.sheet.cssRules[0].style.backgroundImage; },
  worker: () => message(new Worker(CDN + "/worker.js")),
  text_worker: () => fromText(`fetch("${CDN}/text").then(a => a.text()).then(postMessage)`),
  module_worker: () => fromText(`postMessage(await (await fetch("${CDN}/text")).text())`, {type: "module"}),
  socket: () => new Promise(done => { new WebSocket("wss://cdn.example/s").onclose = event => done(event.code); }),
  cookies: () => { document.cookie = "a=1; path=/"; document.cookie = "b=2"; document.cookie = "a=; max-age=0";
    return document.cookie; },
  chance: () => Math.random() < 1 && new Date(2020, 1).getFullYear() === 2020 && Date.now() - new Date() < 100,
  frame: () => new Promise(done => { addEventListener("message", event => done(event.data));
    Object.assign(first("iframe"), {src: CDN + "/embed/"}); }),
  service: () => "serviceWorker" in navigator,
};
Promise.all(Object.entries(tries).map(async ([name, attempt]) => {
  said[name] = await Promise.resolve().then(attempt).catch(error => "threw " + error);
})).then(() => { document.title = JSON.stringify(said); });
</script>"""
EMBED = """<script>fetch("/data.json").then(a => a.json()).then(async data => {
  const pictures = [...document.images].map(one => one.complete && one.naturalWidth);
  parent.postMessage([data.from, pictures, location.pathname.startsWith("/~/")], "*"); });</script><img src="/p.png">"""


def test_whatever_way_a_script_asks_it_gets_what_was_recorded(view: View) -> None:
    picture, text, code = (png(8, 8, "#c8b428"), "image/png"), "text/plain", "text/javascript"
    pages = [
        (f"{HOME}/", Page(ASKING.encode())),
        (f"{HOME}/dir/data.json", Page(b'{"from": "home"}', "application/json")),
        (f"{HOME}/echo", Page(b"posted", text, method="POST", sent=b"b=2&a=1")),
        (f"{CDN}/echo", Page(b"was put", text, method="PUT", sent=b"put")),
        (f"{CDN}/data.json", Page(b'{"from": "cdn"}', "application/json")),
        (f"{CDN}/text", Page(b"a text", text)),
        (f"{CDN}/lib.js", Page(b"window.lib = 1", code)),
        (f"{CDN}/module.js", Page(b"import b from '/deep/b.js'; export default b", code)),
        (f"{CDN}/deep/b.js", Page(b"import c from './c.js'; export default c + 1", code)),
        (f"{CDN}/deep/c.js", Page(b"export default 41", code)),
        (f"{CDN}/worker.js", Page(b"importScripts('/lib2.js')", code)),
        (f"{CDN}/lib2.js", Page(b"fetch('/text').then(a => a.text()).then(postMessage)", code)),
        (f"{CDN}/p.png", Page(*picture)),
        (f"{CDN}/embed/", Page(EMBED.encode())),
    ]
    run(view, f"{HOME}/", pages)
    said = json.loads(view.browser.in_frame("document.title.startsWith('{') && document.title"))
    at = 'url("/~/https://cdn.example/p.png")'
    assert said == {
        "relative": {"from": "home"},
        "elsewhere": [f"{CDN}/data.json", "cdn"],
        "request": "was put",
        "posted": "posted",
        "missing": "TypeError",
        "xhr": f"200 a text {CDN}/text",
        "script": "loaded",
        "imported": 42,
        **dict.fromkeys(("picture", "attribute", "html", "template"), 8),
        "styled": at,
        "sheet": at,
        **dict.fromkeys(("worker", "text_worker", "module_worker"), "a text"),
        "socket": 1006,
        "cookies": "b=2",
        "chance": True,
        "frame": ["cdn", [8], True],
        "service": False,
    }
    view.browser.in_frame("setTimeout(() => { location.href = 'https://cdn.example/text'; }) > 0")
    assert view.browser.in_frame("document.body?.innerText === 'a text'")
    assert view.refused() == 0


GUARDED = """<!doctype html><title>guarded</title><body onclick="1"><script>window.inline = 1</script>
<script nonce="page">window.allowed = 1; try { eval("window.evaluated = 1") } catch { window.noEval = 1 }</script>
<script src="/own.js"></script>
<button onclick="window.handled = 1">x</button><iframe src="/frame"></iframe><iframe src="/frame"></iframe>"""
SAID = """JSON.stringify([window.inline, window.allowed, window.evaluated, window.noEval, window.own,
    (document.querySelector("button").click(), window.handled),
    [...document.querySelectorAll("iframe")]
        .map(one => [one.contentDocument.body.innerText, one.contentWindow.where])])"""


def test_a_page_does_what_its_own_policy_lets_it_do(view: View) -> None:
    policy = ("Content-Security-Policy", "default-src 'none'; script-src 'self' 'nonce-page'; frame-src 'self'")
    frames = (f"{number}<script>window.where = location.pathname</script>".encode() for number in (1, 2))
    pages = [
        (f"{HOME}/", Page(GUARDED.encode(), headers=(policy,))),
        (f"{HOME}/own.js", Page(b"window.own = 1", "text/javascript")),
        *((f"{HOME}/frame", Page(frame, loaded_as="Document", initiator=f"{HOME}/")) for frame in frames),
    ]
    run(view, f"{HOME}/", pages)
    view.browser.in_frame("document.readyState === 'complete'")
    said = json.loads(view.browser.in_frame(SAID))
    assert said == [None, 1, None, 1, 1, None, [["1", "/frame"], ["2", "/frame"]]]
    assert view.refused() == 0, "the page's own policy is not ours"
