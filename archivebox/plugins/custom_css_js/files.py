"""Which files of the person's are for a page: by the host and the beginning of the path that they are named after."""

from __future__ import annotations

import os
from urllib.parse import urlsplit

SUFFIXES = (".css", ".js")
FOR_ALL = "all"


def files_for(url: str, folder: str) -> list[str]:
    """Return the files of `folder` that are for `url`, from the most general to the most particular.

    `all.css`, then `org.css`, `example.org.css`, `www.example.org.css`, then by path: `example.org/blog.css`,
    `example.org/blog/2024.css` for https://www.example.org/blog/2024/a. Style sheets before scripts of the same name.
    """
    paths = (os.path.join(folder, name + suffix) for name in names_for(url) for suffix in SUFFIXES)
    return [path for path in paths if os.path.isfile(path)]


def names_for(url: str) -> list[str]:
    """Return what files for `url` may be called, without suffix."""
    parts = urlsplit(url)
    labels = (parts.hostname or "").split(".")
    hosts = [".".join(labels[start:]) for start in range(len(labels) - 1, -1, -1)]
    steps = [step for step in parts.path.split("/") if step and step != ".."]
    return [FOR_ALL, *("/".join([host, *steps[:depth]]) for depth in range(len(steps) + 1) for host in hosts)]
