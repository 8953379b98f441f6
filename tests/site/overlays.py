"""Pages under banners that are not in their document: in shadow roots, in frames, one after another."""

from __future__ import annotations

from tests.site.wire import Request, Response, Route, page

WORDS = "<p>" + "An archive keeps what was there at one moment, and says so. " * 12 + "</p>"
CONSENT = "We use cookies and ask for your consent."
FIXED = "position: fixed; z-index: 9; background: white; left: 0; right: 0; bottom: 0; padding: 2em; height: 200px"
ATTACH = """<cookie-box></cookie-box><script>
const root = document.querySelector("cookie-box").attachShadow({{ mode: "{mode}" }});
root.innerHTML = `<div class="consent" style="{fixed}"><p>{consent}</p>{buttons}</div>`;
root.querySelector("button")?.addEventListener("click", () => {{
  root.firstChild.remove();
  document.body.dataset.choice = "refused";
}});
</script>"""
SECOND = f"""<div class="osano-cm-window" role="dialog" aria-label="Cookie choices" style="{FIXED}">
<p>{CONSENT}</p><button type="button">Customize</button></div>"""


def _in_root(mode: str, buttons: str) -> Response:
    style = FIXED if buttons else f"{FIXED}; top: 0; height: auto"
    script = ATTACH.format(mode=mode, fixed=style, consent=CONSENT, buttons=buttons)
    return Response(page("A banner in a shadow root", WORDS + script))


def open_root(_request: Request) -> Response:
    """A banner in an open shadow root, which can be refused."""
    return _in_root("open", '<button type="button">Reject all</button><button type="button">Accept all</button>')


def closed_root(_request: Request) -> Response:
    """A wall in a closed shadow root, of which no script sees a button."""
    return _in_root("closed", "")


def styled(_request: Request) -> Response:
    """A page whose style sheets let the boxes of links, headings and empty elements lie over all of it."""
    style = "<style>.wide::after { content: ''; position: fixed; inset: 0 }</style>"
    body = (
        f'{WORDS}<p class="wide">A link for the whole card.</p><h2 class="wide">A heading</h2><div class="wide"></div>'
    )
    return Response(page("Covered by style sheets", body, head=style))


def framed(request: Request) -> Response:
    """A consent banner in a frame of another origin, in a part that dims the page."""
    where = 'id="sp_message_iframe_1" title="Consent" src="%OTHER%/overlays/inside"'
    frame = f'<iframe {where} style="{FIXED}; border: 0; width: 100%"></iframe>'
    cover = '<div id="sp_message_container_1" style="position: fixed; inset: 0; background: #0008">'
    return Response(request.fill_in(page("A banner in a frame", f"{WORDS}{cover}{frame}</div>")))


def inside(_request: Request) -> Response:
    return Response(page("Consent", f"<p>{CONSENT}</p><button>Options</button>"))


def two(_request: Request) -> Response:
    """A banner that can be refused, and another one that nobody knows."""
    script = """<div id="onetrust-consent-sdk">
<div id="onetrust-banner-sdk" style="position: fixed; left: 0; right: 0; top: 0; height: 90px"><p>We use cookies.</p>
<button id="onetrust-reject-all-handler">Reject All</button><button id="onetrust-accept-btn-handler">Accept</button>
</div></div><script>
for (const button of document.querySelectorAll("#onetrust-banner-sdk button"))
  button.onclick = () => document.getElementById("onetrust-consent-sdk").remove();
</script>"""
    return Response(page("Two banners", WORDS + script + SECOND))


def again(_request: Request) -> Response:
    """A banner that is put back whenever it is taken away or hidden."""
    script = """<script>
const banner = document.querySelector(".osano-cm-window");
setInterval(() => { if (!banner.isConnected) document.body.append(banner); }, 10);
</script>"""
    return Response(page("A banner that comes back", WORDS + SECOND + script))


ROUTES = (
    Route("/overlays/open-root", "a consent banner in an open shadow root", open_root),
    Route("/overlays/closed-root", "a wall in a closed shadow root", closed_root),
    Route("/overlays/styled", "parts of a page that lie over it by a style sheet", styled),
    Route("/overlays/frame", "a consent banner in a frame of another origin", framed),
    Route("/overlays/inside", "the banner of /overlays/frame", inside),
    Route("/overlays/again", "a consent banner that comes back", again),
    Route("/overlays/two", "two consent banners, of which one is of no known kind", two),
)
