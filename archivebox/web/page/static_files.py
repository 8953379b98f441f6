"""Owns the addresses of the app's own style sheets, scripts and pictures: each carries what is in the file."""

import hashlib
from functools import cache
from pathlib import Path

from django.contrib.staticfiles import finders
from django.contrib.staticfiles.storage import StaticFilesStorage

VERSION = "v"
"""The parameter that says which version of a file is meant: an upgrade is seen at once, and else nothing is loaded."""


class VersionedStorage(StaticFilesStorage):
    """Files where they were installed, at addresses that change with their contents."""

    def url(self, name: str | None) -> str:
        return f"{super().url(name)}?{VERSION}={_version_of(name or '')}"


@cache
def _version_of(name: str) -> str:
    """Of a file that is there; empty for one that is not, which answers that itself."""
    found = finders.find(name)
    return hashlib.sha256(Path(found).read_bytes()).hexdigest()[:12] if found else ""
