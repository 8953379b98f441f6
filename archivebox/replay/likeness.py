"""Owns how much the replay of a page looks like the picture that was kept of it: a browser shows it, without a network.

The browser is the script of a plugin, which asks here for all that the page wants; what it gets is what people get.
"""

import base64
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self
from uuid import UUID

from archivebox.core.snapshot import Snapshot
from archivebox.hooks import base_layers, plugins, resolve_settings, script_environment
from archivebox.lib import jsonl
from archivebox.lib.jsonl import JSON
from archivebox.machine.binary import binary_paths
from archivebox.machine.host import Machine
from archivebox.replay import addresses
from archivebox.replay.addresses import Place
from archivebox.replay.files import NotThereError
from archivebox.replay.index import indices
from archivebox.replay.moments import moment_of
from archivebox.replay.origins import policy, sandbox
from archivebox.replay.recorded import Asked, Reply, reply_to

BROWSER, SCRIPT = "chrome", "compare.py"
"""The plugin that has the browser, and its script for this."""
PICTURES = ("screenshot/screenshot.png", "screenshot/screenshot.webp")
APP = "http://localhost"
"""Where links lead, which nobody follows."""
LARGEST = 32 * 1024 * 1024
"""Bytes of one file that is shown; films are longer, and stand still."""
_NOTHING: dict[str, JSON] = {"status": 0}


class NotComparableError(Exception):
    """A page cannot be compared; the message is a sentence."""


class NoBrowserError(OSError):
    """No page can be compared; the message is a sentence."""


class Comparing:
    """A conversation in which pages are compared one after the other, by one browser."""

    def __enter__(self) -> Self:
        plugin, settings = plugins().get(BROWSER), resolve_settings(base_layers())
        if plugin is None or not settings.get_flag(plugin.enabled_setting):
            raise NoBrowserError(f"There is no browser to look with: the plugin {BROWSER} is off.")
        self._process = subprocess.Popen(
            [sys.executable, str(plugin.path / SCRIPT)],
            env=script_environment(BROWSER, settings, binary_paths(Machine.current().pk)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()

    def compare(self, snapshots: Iterable[Snapshot]) -> tuple[dict[UUID, float], dict[UUID, str]]:
        """The share of its picture's pixels, from 0 to 1, that the replay of each shows alike; or why there is none.

        NoBrowserError.
        """
        shares: dict[UUID, float] = {}
        failures: dict[UUID, str] = {}
        for snapshot in snapshots:
            try:
                shares[snapshot.pk] = self._share_alike(snapshot)
            except NotComparableError as reason:
                failures[snapshot.pk] = str(reason)
        return shares, failures

    def _share_alike(self, snapshot: Snapshot) -> float:
        picture = next((path for name in PICTURES if (path := snapshot.path / name).is_file()), None)
        if picture is None:
            raise NotComparableError("No picture was kept of it.")
        url = indices.of(snapshot.path).page(snapshot.url, snapshot.final_url)
        if not url:
            raise NotComparableError("It was not recorded, so that it has no replay.")
        host = f"{snapshot.pk}.localhost"
        address = Place("shown", APP, moment_of(snapshot)).address(url)
        page = {"url": f"http://{host}{address}", "sandbox": sandbox(own=True, scripts=False), "picture": str(picture)}
        said = self._ask(page)
        while said["type"] == "Asked":
            said = self._ask(_answer(snapshot.path, host, said))
        if said["type"] == "NotCompared":
            raise NotComparableError(str(said["sentence"]))
        return float(str(said["alike"]))

    def _ask(self, record: Mapping[str, JSON]) -> dict[str, JSON]:
        """What the script says next of the page; NoBrowserError where it has ended."""
        stdin, stdout = self._process.stdin, self._process.stdout
        sentence = "The browser has ended."
        try:
            stdin.write(jsonl.dumps(record))  # type: ignore[union-attr]  # both are pipes
            stdin.flush()  # type: ignore[union-attr]  # both are pipes
        except BrokenPipeError:
            pass  # what it had to say comes now
        for said in jsonl.iter_lines(stdout):  # type: ignore[arg-type]  # both are pipes
            if said.get("type") in {"Asked", "Compared", "NotCompared"}:
                return said
            sentence = str(said.get("output_str") or sentence)
        raise NoBrowserError(sentence)


def _answer(folder: Path, host: str, said: Mapping[str, JSON]) -> dict[str, JSON]:
    """What the listener would send."""
    token, _, path = str(said["url"]).removeprefix(f"http://{host}/").partition("/")
    place, url = addresses.read(token, path)
    if place is None:
        return _NOTHING
    try:
        reply = reply_to(folder, Asked(place, url, range=str(said["range"])))
    except NotThereError:
        return _NOTHING
    try:
        return _NOTHING if reply.size > LARGEST else _sent(reply, host)
    finally:
        reply.close()


def _sent(reply: Reply, host: str) -> dict[str, JSON]:
    allowed = policy(host, reply.mimetype, links=True, is_clean=reply.is_clean)
    headers: dict[str, JSON] = {"content-type": reply.mimetype, "content-security-policy": allowed, **reply.headers}
    body = base64.b64encode(reply.read(reply.size)).decode()
    return {"status": reply.status, "headers": headers, "body": body}
