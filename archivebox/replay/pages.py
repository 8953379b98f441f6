"""Owns the few pages that the replay listener draws itself: a folder's listing, and errors."""

import os
from collections.abc import Sequence
from html import escape
from urllib.parse import quote

from archivebox.replay.addresses import ReplayContext
from archivebox.replay.files import FolderEntry
from archivebox.replay.scripts.place import ScriptPlace

HTML = "text/html; charset=utf-8"

_STYLE = """
:root{color-scheme:light dark;--ink:#1d2420;--soft:#5a655e;--paper:#fbfaf7;--line:#dfddd5;--accent:#0b6b4f}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9e4;--soft:#9ba69f;--paper:#151917;--line:#2b322e;--accent:#5cc8a1}}
body{margin:0 auto;max-width:60rem;padding:1.5rem 1rem;font:16px/1.5 system-ui,sans-serif;color:var(--ink);
background:var(--paper)}h1{font-size:1.1rem;font-weight:600;overflow-wrap:anywhere}ul{list-style:none;margin:0;padding:0}
li a{display:flex;gap:1rem;justify-content:space-between;padding:.6rem .25rem;min-height:1.5rem;color:var(--accent);
text-decoration:none;border-bottom:1px solid var(--line);overflow-wrap:anywhere}li a:hover{text-decoration:underline}
span{color:var(--soft);white-space:nowrap;font-variant-numeric:tabular-nums}p{color:var(--soft);overflow-wrap:anywhere}.button{display:inline-block;
padding:.6rem 1rem;border-radius:.4rem;background:var(--accent);color:var(--paper);text-decoration:none}
"""


def _page(title: str, body: str) -> bytes:
    text = (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style><h1>{escape(title)}</h1>{body}</html>"
    )
    return text.encode("utf-8", "replace")


def error_page(title: str, sentence: str) -> bytes:
    return _page(title, f"<p>{escape(sentence)}</p>")


def redirect_loop_page(url: str) -> bytes:
    sentence = "When it was kept, its server sent the browser in a circle of redirects: there never was a page."
    return _page("This address leads back to itself", f"<p>{escape(url)}</p><p>{sentence}</p>")


def missing_page(url: str, place: ReplayContext | ScriptPlace, failure: str) -> bytes:
    """What stands for a URL that is not in this snapshot; ``failure``: why the browser got nothing, where it asked."""
    why = f"<p>The browser asked for it then, and got nothing: {escape(failure)}.</p>" if failure else ""
    if isinstance(place, ScriptPlace):
        further = "<p>While scripts run, links stay in this frame. Stop the scripts above, then follow it.</p>"
    else:
        address = escape(place.follow(url))
        further = f'<p><a class="button" href="{address}" target="_top">Look for it in the whole archive</a></p>'
    return _page("Not kept with this page", f"<p>{escape(url)}</p>{why}{further}")


def listing_page(names: Sequence[str], entries: Sequence[FolderEntry]) -> bytes:
    """The files of one folder; any bytes may be in their names."""
    lines = [_line("..", "up", "")] if names else []
    lines += [
        _line(_link(entry), _shown(entry.name) + ("/" if entry.is_folder else ""), _size(entry)) for entry in entries
    ]
    title = "/".join(_shown(name) for name in names) or "All files of this snapshot"
    return _page(title, f"<ul>{''.join(lines)}</ul>" if lines else "<p>Nothing is kept here yet.</p>")


def _line(address: str, text: str, size: str) -> str:
    return f'<li><a href="{escape(address)}">{escape(text)}<span>{size}</span></a></li>'


def _link(entry: FolderEntry) -> str:
    return "./" + quote(os.fsencode(entry.name)) + ("/" if entry.is_folder else "")


def _shown(name: str) -> str:
    return os.fsencode(name).decode("utf-8", "replace")


def _size(entry: FolderEntry) -> str:
    return "" if entry.is_folder else f"{entry.size:,} B"
