"""Owns how formats of a page are written: their signs and words."""

from collections.abc import Mapping
from typing import Any

from django import template

from archivebox.contract.formats import Format, Kind
from archivebox.contract.hooknames import parse_hook_name

register = template.Library()

_SIGNS: dict[Kind, str] = {
    Kind.REPLAY: "archive",
    Kind.PAGE: "globe",
    Kind.PICTURE: "image",
    Kind.PDF: "file-text",
    Kind.MEDIA: "film",
    Kind.READER: "book-open",
    Kind.TEXT: "text",
    Kind.HEADERS: "list",
    Kind.RESPONSES: "network",
    Kind.EVIDENCE: "shield",
    Kind.FILES: "folder-tree",
    Kind.DRAWN: "puzzle",
    Kind.OTHER: "file",
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
