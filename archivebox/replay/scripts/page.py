"""Owns what is put into a document whose scripts are to run: the shim, and a map of the modules of other hosts."""

import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, replace
from html import escape

from selectolax.lexbor import LexborHTMLParser

from archivebox.lib.jsonl import JSON
from archivebox.replay.rewriting.html import put_first, rewrite_html, with_doctype_of
from archivebox.replay.rewriting.links import LinkRewriter
from archivebox.replay.scripts.place import FOREIGN, ScriptPlace

SHIM = f"{FOREIGN}shim.js"
HOSTS_MOST = 200
"""Hosts whose modules a document finds by their URLs."""
_MAPS = 'script[type="importmap" i]'


def rewrite_scripted(text: str, links: LinkRewriter, origins: Iterable[str]) -> str:
    """The document, written anew for a view in which its scripts run. ``origins``: of all that was recorded."""
    assert isinstance(links.place, ScriptPlace)  # noqa: S101 - other places run no scripts
    text, maps = _without_maps(text)
    page = json.dumps({"url": links.document, **asdict(links.place)})
    modules = json.dumps(module_map(maps, links, links.place, origins)).replace("<", "\\u003c")
    own = f' nonce="{links.nonce}"' if links.nonce else ""
    put_in = (
        f'<script src="{SHIM}" data-page="{escape(page)}"{own}></script>'
        f'<script type="importmap"{own}>{modules}</script>'
    )
    return put_first(rewrite_html(text, replace(links, before=put_in)), put_in)


def _without_maps(text: str) -> tuple[str, list[JSON]]:
    """The document without its own import maps, and what is in them."""
    if "importmap" not in text.lower():
        return text, []
    tree = LexborHTMLParser(text)
    found: list[JSON] = []
    for node in tree.css(_MAPS):
        with suppress(ValueError, RecursionError):  # nor does a browser take it
            found.append(json.loads(node.text()))
        node.remove()
    return with_doctype_of(text, tree.html or ""), found


def module_map(own: Iterable[JSON], links: LinkRewriter, place: ScriptPlace, origins: Iterable[str]) -> dict[str, JSON]:
    """An import map (HTML 8.1.6.2) by which modules that name recorded hosts find them, with the page's own."""
    hosts = [origin for origin in sorted(origins) if origin != place.main][:HOSTS_MOST]
    imports: dict[str, JSON] = {f"{host}/": f"{FOREIGN}{host}/" for host in hosts}
    imports[f"{place.main}/"] = "/"
    scopes: dict[str, JSON] = {}
    for one in own:
        if isinstance(one, dict):
            imports |= _led(one.get("imports"), links)
            given = one.get("scopes")
            for scope, names in given.items() if isinstance(given, dict) else ():
                known = scopes.setdefault(links.resource(scope), {})
                assert isinstance(known, dict)  # noqa: S101 - made above
                known |= _led(names, links)
    return {"imports": imports, "scopes": scopes}


def _led(names: JSON, links: LinkRewriter) -> dict[str, JSON]:
    """The names of modules with the addresses of the view instead of URLs; what is not a URL stays."""
    if not isinstance(names, dict):
        return {}
    return {name: links.resource(url) if isinstance(url, str) else url for name, url in names.items()}
