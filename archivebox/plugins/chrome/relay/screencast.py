"""Small pictures of the pages that are open, for whoever looks; none is taken while nobody does.

To look is to be connected to the socket here: it is told what changes on each page (`{"snapshot": …, "picture": <JPEG
in base64, or null when the page is closed>}`, a NUL after each) and has nothing to say. The kernel closes the socket
of a viewer that was killed, so that nobody has to be asked whether he is still there, and nothing is written to disk.

A picture is one frame of Chromium's screencast, which is stopped again: left running, it copies sixty frames a second
of a page that moves (15 to 30 % of a core) whatever is taken of them; one a second costs about 1 %. It is what the
compositor shows anyway: unlike `Page.captureScreenshot` it changes neither the size of the page nor its scale, and
waits for nobody.
"""

from __future__ import annotations

import json
import os
import socket
import time

from .channel import PeerChannel, Plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from archivebox.plugins.base.cdp import Params

    from . import Relay

SOCKET = "screencast"  # its name in the browser's folder
EVERY = 0.9  # seconds between two pictures of a page; the hook looks around every half second
PICTURE = {"format": "jpeg", "quality": 50, "maxWidth": 320, "maxHeight": 480}  # 2 to 12 kB
PAGES_MAX = 8
VIEWERS_MAX = 8  # connections: a web server has one, however many people look


class Camera:
    """Pictures of one page, taken as a client of the relay: what it asked for ends with its connection."""

    def __init__(self, relay: Relay, target: str, show: Callable[[str], None]) -> None:
        ours, theirs = socket.socketpair()
        relay.add_client(theirs)
        self._show = show
        self._channel = PeerChannel(ours, Plain(), relay.selector, self._receive, lambda: None)
        self._channel.send(json.dumps({"target": target}).encode())
        self._due = 0.0
        self._waits = False  # for a frame that was asked for
        self.picture = ""

    def capture_frame(self, now: float) -> None:
        """Ask for a picture if it is time for the next."""
        if self._waits or now < self._due:
            return
        self._waits, self._due = True, now + EVERY
        self._send("Page.startScreencast", PICTURE)

    def close(self) -> None:
        self._channel.close()

    def _send(self, method: str, params: Params | None = None) -> None:
        self._channel.send(json.dumps({"id": 1, "method": method, "params": params or {}}).encode())

    def _receive(self, message: bytes) -> None:
        event = json.loads(message)
        if event.get("method") != "Page.screencastFrame" or not self._waits:
            return
        self._waits = False
        self._send("Page.stopScreencast")
        if event["params"]["data"] != self.picture:
            self.picture = event["params"]["data"]
            self._show(self.picture)


class Screencast:
    """Who looks, and the cameras on the pages that are open, while somebody does."""

    def __init__(self, relay: Relay, folder: str) -> None:
        self._relay = relay
        self._pages: dict[str, str] = {}  # Snapshots by the tab that is open for them
        self._cameras: dict[str, Camera] = {}
        self._viewers: list[PeerChannel] = []
        self.socket = os.path.join(folder, SOCKET)
        relay.listen(socket.AF_UNIX, self.socket, self._welcome)

    def opened(self, target: str, snapshot: str) -> None:
        """A tab was opened for a Snapshot."""
        self._pages[target] = snapshot

    def closed(self, target: str) -> None:
        """A tab is gone, one of a Snapshot or any other."""
        snapshot = self._pages.pop(target, "")
        camera = self._cameras.pop(target, None)
        if camera is not None:
            camera.close()
            self._show(snapshot, None)

    def capture_frames(self) -> None:
        """Ask for the pictures that are due; to be called every now and then."""
        if not self._viewers:
            return
        for target in list(self._pages)[:PAGES_MAX]:
            if target not in self._cameras:
                self._cameras[target] = self._camera(target, self._pages[target])
            self._cameras[target].capture_frame(time.monotonic())

    def _camera(self, target: str, snapshot: str) -> Camera:
        return Camera(self._relay, target, lambda picture: self._show(snapshot, picture))

    def _welcome(self, stream: socket.socket) -> None:
        viewer: PeerChannel = PeerChannel(
            stream, Plain(), self._relay.selector, lambda _: None, lambda: self._left(viewer)
        )
        self._viewers.append(viewer)
        for target, camera in self._cameras.items():
            if camera.picture:
                viewer.send(_message(self._pages[target], camera.picture))
        if len(self._viewers) > VIEWERS_MAX:
            self._viewers[0].close()

    def _left(self, viewer: PeerChannel) -> None:
        self._viewers.remove(viewer)
        if not self._viewers:
            for camera in self._cameras.values():
                camera.close()
            self._cameras.clear()

    def _show(self, snapshot: str, picture: str | None) -> None:
        for viewer in list(self._viewers):
            if viewer.is_behind:  # by what a socket holds, some twenty pictures: it has stopped; it may come again
                viewer.close()
            else:
                viewer.send(_message(snapshot, picture))


def _message(snapshot: str, picture: str | None) -> bytes:
    return json.dumps({"snapshot": snapshot, "picture": picture}).encode()
