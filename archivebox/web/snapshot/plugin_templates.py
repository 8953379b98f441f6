"""Owns what plugins draw themselves: their ``templates/icon.html``, ``card.html``, ``embed.html``, ``fullscreen.html``.

A template is a stranger's: it is rendered with plain values alone, and of what it makes only harmless HTML is left. One
that fails leaves nothing, and a line in the log. docs/plugin-topics.md says what a template gets.
"""

import logging
from functools import cache
from pathlib import Path
from typing import Any, Literal

from django.template import Context, Engine
from django.utils.safestring import SafeString, mark_safe

from archivebox.core.archiveresult import ArchiveResult
from archivebox.core.snapshot import Snapshot
from archivebox.hooks import plugins
from archivebox.lib.html_sanitizer import fragment
from archivebox.web.snapshot.file_excerpts import address_of

Place = Literal["icon", "card", "embed", "fullscreen"]
FILES = 100
"""Files of a result that a template gets."""

log = logging.getLogger("archivebox.web")


def has_template(plugin: str, place: Place) -> bool:
    """Whether this plugin draws itself in this place."""
    known = plugins().get(plugin)
    return known is not None and place in _places(known.path)


def title_of(plugin: str) -> str:
    """What people call a plugin; its name where it says nothing, or is no longer there."""
    known = plugins().get(plugin)
    return known.title if known is not None and known.title else plugin


@cache
def _places(folder: Path) -> frozenset[str]:
    return frozenset(path.stem for path in (folder / "templates").glob("*.html"))


@cache
def _engine(folder: Path) -> Engine:
    """An engine that knows Django's own tags and the templates of one folder."""
    return Engine(dirs=[str(folder / "templates")], autoescape=True, libraries={}, debug=False)


def drawn(result: ArchiveResult, place: Place, base: str, sandbox: str) -> SafeString:
    """What the plugin of this result draws; empty where it draws nothing. ``base``: address of the snapshot's files."""
    if not has_template(result.plugin, place):
        return SafeString("")
    folder = plugins()[result.plugin].path
    try:
        html = _engine(folder).get_template(f"{place}.html").render(Context(_values(result, base)))
    except Exception as error:  # noqa: BLE001 - a stranger's template: whatever it raises, the page goes on
        log.warning("%s of %s: %s action=template_failed", place, result.plugin, error)
        return SafeString("")
    return mark_safe(fragment(html, base, sandbox))  # noqa: S308 - cleaned a moment ago


def _values(result: ArchiveResult, base: str) -> dict[str, Any]:
    """All that a template gets: texts, numbers, lists and dictionaries of them."""
    names = sorted(result.output_files.items())[:FILES]
    files = [
        {"name": name, "size": about.get("size", 0), "mimetype": about.get("mimetype", ""),
         "url": base + address_of(result.plugin, name)}
        for name, about in names
    ]  # fmt: skip
    said = {"status": result.status, "output_str": result.output_str, "output_json": result.output_json}
    return {
        "plugin": result.plugin,
        "snapshot": _facts(result.snapshot),
        "result": said | {"sentence": result.sentence, "size": result.output_size},
        "files": files,
        "base": base,
    }


def _facts(snapshot: Snapshot) -> dict[str, Any]:
    return {
        "id": str(snapshot.pk),
        "url": snapshot.url,
        "title": snapshot.title,
        "domain": snapshot.domain,
        "archived_at": snapshot.created_at,
        "http_status": snapshot.http_status,
        "mime_type": snapshot.mime_type,
    }
