"""Owns how formats of a page are written: their signs and words."""

from collections.abc import Mapping
from typing import Any

from django import template

from archivebox.contract.formats import Format, FormatKind
from archivebox.contract.hooknames import parse_hook_name

register = template.Library()

_SIGNS: dict[FormatKind, str] = {
    FormatKind.REPLAY: "archive",
    FormatKind.PAGE: "globe",
    FormatKind.PICTURE: "image",
    FormatKind.PDF: "file-text",
    FormatKind.MEDIA: "film",
    FormatKind.READER: "book-open",
    FormatKind.TEXT: "text",
    FormatKind.HEADERS: "list",
    FormatKind.RESPONSES: "network",
    FormatKind.EVIDENCE: "shield",
    FormatKind.FILES: "folder-tree",
    FormatKind.DRAWN: "puzzle",
    FormatKind.OTHER: "file",
}


@register.filter
def sign(one: Format) -> str:
    """The icon of a format."""
    return _SIGNS[one.kind]


@register.filter
def of(values: Mapping[Any, str], key: object) -> str:
    """What a mapping has of a key; empty where it has none."""
    return values.get(key, "")


@register.filter
def hookword(hook_name: str | None) -> str:
    """What a hook does, of its file name: ``on_Snapshot__30_navigate.py`` → ``navigate``."""
    name = parse_hook_name(hook_name or "")
    return name.what if name is not None else hook_name or ""
