"""Pages whose text is not in their document: shadow roots, frames; guarded HTML, parts that go away."""

from __future__ import annotations

from tests.site.static import file, static
from tests.site.wire import Handler, Request, Response, Route, page

TRUSTED = "require-trusted-types-for 'script'"
POLICIES = f"{TRUSTED}; trusted-types of-the-page"
NO_POLICY = f"{TRUSTED}; trusted-types 'none'; script-src 'none'; connect-src 'none'; img-src 'self'; style-src 'self'"


def frame(_request: Request) -> Response:
    return Response(page("A frame", '<p>Words of another origin <a href="/dup?framed">framed link</a></p>'))


def hidden(_request: Request) -> Response:
    return Response(page("A hidden frame", "<p>Words that nobody sees</p>"))


def guarded(policy: str) -> Handler:
    """The article under a Content-Security-Policy."""
    return static("article.html", headers=(("Content-Security-Policy", policy),))


def missing_parts(_request: Request) -> Response:
    """Sixty styles and sixty scripts that are not there, and of which the page drops some while they load."""
    script = """<script>
for (let number = 0; number < 60; number++) {
  const style = Object.assign(document.createElement("link"), { rel: "stylesheet", href: `/missing/${number}.css` });
  const script = Object.assign(document.createElement("script"), { src: `/missing/${number}.js` });
  document.head.append(style, script);
  setTimeout(() => style.remove(), number % 7);
}
</script>"""
    return Response(page("Missing parts", f"<p>Nothing of it is there.</p>{script}"))


def short_frames(_request: Request) -> Response:
    """Forty frames that are removed at their load, or before."""
    script = """<script>
for (let number = 0; number < 40; number++) {
  const frame = Object.assign(document.createElement("iframe"), { src: `/roots/frame?${number}` });
  document.body.append(frame);
  if (number < 20) frame.onload = () => frame.remove();
  else setTimeout(() => frame.remove(), number * 3);
}
</script>"""
    return Response(page("Short frames", f"<p>They come and go.</p>{script}"))


def made(_request: Request) -> Response:
    """Ten bodies that a service worker makes; `/page.txt?all-made` is asked for at the end."""
    script = """<script>
(async () => {
  const workers = navigator.serviceWorker;
  await workers.register("/network/service.js", { scope: "/" });
  await workers.ready;
  if (!workers.controller) await new Promise((done) => workers.addEventListener("controllerchange", done));
  for (let number = 0; number < 10; number++) await (await fetch(`/network/made?${number}`)).text();
  fetch("/page.txt?all-made");
})();
</script>"""
    return Response(page("Made", script))


ROUTES: tuple[Route, ...] = (
    file("/roots", "words and links in open, closed, nested and declared shadow roots, and in frames"),
    Route("/roots/frame", "a frame of /roots, of another origin there", frame),
    Route("/roots/missing", "styles and scripts that are not there, some given up while they load", missing_parts),
    Route("/roots/short-frames", "frames that are removed while they load", short_frames),
    Route("/roots/made", "asks for what a service worker makes", made),
    Route("/roots/hidden", "a frame of /roots that nobody sees", hidden),
    Route("/guarded", "the article, with Trusted Types", guarded(TRUSTED)),
    Route("/guarded/named", "the article, with Trusted Types and one policy by name", guarded(POLICIES)),
    Route("/guarded/none", "the article, with Trusted Types and no policy, under a strict CSP", guarded(NO_POLICY)),
)
