"""Whoever looks sees the open pages as small pictures, and changes nothing of them; nobody looking costs nothing."""

from __future__ import annotations

import base64
import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.plugins_bundled.browser.chain import PAGE_HOOKS, Crawl, Snapshot
from tests.site.serve import Site

pytestmark = pytest.mark.browser
SCREENSHOT, DOM = PAGE_HOOKS[0], PAGE_HOOKS[2]
SMALL = 32_000
PATIENCE = 90.0


class Viewer:
    """Somebody who looks."""

    def __init__(self, crawl: Crawl) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(crawl.session()["screencast"])
        self._file = self.socket.makefile("rb")

    def next(self) -> dict[str, Any]:
        message = bytearray()
        while (byte := self._file.read(1)) != b"\0":
            assert byte, "nobody is there any more"
            message += byte
        said: dict[str, Any] = json.loads(message)
        return said

    def leave(self) -> None:
        self._file.close()
        self.socket.close()


@contextmanager
def viewer(crawl: Crawl) -> Iterator[Viewer]:
    """Leaving without a word is what a killed one does, too: the kernel closes its socket."""
    looking = Viewer(crawl)
    try:
        yield looking
    finally:
        looking.leave()


def opened(crawl: Crawl, name: str, url: str) -> Snapshot:
    snapshot = crawl.snapshot(name, url)
    snapshot.arguments = (f"--url={url}", f"--snapshot-id={name}", "--crawl-id=c1", "--depth=0")
    assert snapshot.navigate().status == "succeeded"
    return snapshot


def descriptors(crawl: Crawl) -> int:
    """How many files and sockets the browser's hook has open."""
    assert crawl.browser is not None
    return len(list(Path(f"/proc/{crawl.browser.process.pid}/fd").iterdir()))


def wait_for_descriptors(crawl: Crawl, count: int) -> None:
    end = time.monotonic() + PATIENCE
    while descriptors(crawl) != count:
        assert time.monotonic() < end, f"{descriptors(crawl)} instead of {count}"
        time.sleep(0.02)


def output(snapshot: Snapshot, hook: str) -> bytes:
    assert snapshot.run(hook).status == "succeeded"
    folder = snapshot.folder / hook.partition("/")[0]
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file())


def test_pages_are_shown_while_they_are_open_and_nothing_is_taken_while_nobody_looks(crawl: Crawl, site: Site) -> None:
    before = descriptors(crawl)
    red, green = opened(crawl, "red", site.url_for("/red")), opened(crawl, "green", site.url_for("/green"))
    unseen = before + 4  # two holders, by a pidfd and a connection each, and no camera
    wait_for_descriptors(crawl, unseen)
    with viewer(crawl) as looking:
        seen = {said["snapshot"]: base64.b64decode(said["picture"]) for said in (looking.next(), looking.next())}
        assert set(seen) == {"red", "green"}
        assert all(picture.startswith(b"\xff\xd8") and len(picture) < SMALL for picture in seen.values())
        with viewer(crawl) as late:
            assert {late.next()["snapshot"], late.next()["snapshot"]} == {"red", "green"}, "they do not change any more"
        red.close()
        while (said := looking.next())["picture"]:
            assert said["snapshot"] == "green"
        assert said == {"snapshot": "red", "picture": None}
        wait_for_descriptors(crawl, unseen - 2 + 3)  # one holder; the viewer, and both ends of one camera
    wait_for_descriptors(crawl, unseen - 2)
    green.close()
    wait_for_descriptors(crawl, before)


def test_what_is_kept_of_a_page_does_not_depend_on_who_looks(crawl: Crawl, site: Site) -> None:
    url, kept = site.url_for("/article"), []
    for name, is_watched in (("alone", False), ("watched", True)):
        looking = Viewer(crawl) if is_watched else None
        snapshot = opened(crawl, name, url)
        if looking:
            assert looking.next()["snapshot"] == name
        kept.append([output(snapshot, hook) for hook in (SCREENSHOT, DOM)])
        snapshot.close()
        if looking:
            looking.leave()
    assert kept[0] == kept[1]
    assert not [path for path in Path(crawl.folder).rglob("*") if "screencast" in path.name]


def test_with_the_browser_the_pictures_end(tmp_path: Path, site: Site) -> None:
    with Crawl(tmp_path, TIMEOUT="30") as crawl:
        opened(crawl, "page", site.url_for("/colour"))
        with viewer(crawl) as looking:
            assert looking.next()["snapshot"] == "page"
            os.kill(crawl.session()["pid"], 9)
            while looking.socket.recv(65536):
                pass
            assert crawl.browser is not None
            assert crawl.browser.wait().code == 1
        assert not list(crawl.temporary.glob("archivebox-chrome-*"))
