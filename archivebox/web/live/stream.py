"""Owns the streams of server-sent events: Django says who may have one, the event loop sends it.

A view's thread and database connection are given back before the first event: a stream costs neither.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, Protocol
from uuid import UUID

from archivebox.web import settings
from archivebox.web.live.hub import HEADER, Hub, Topic, Viewer
from archivebox.web.live.screencast import Screens
from archivebox.web.live.watch import ChangeWatch
from archivebox.web.server.request_gate import Application, Message, Receive, Scope, Send

EVENTS = f"{settings.BELOW}/events/"
CRAWLS, SCREENCAST = f"{settings.BELOW}/crawls/", "/screencast/"
KIND = b"text/event-stream"
_HEADER = HEADER.lower().encode()
LIVES = 60.0
"""Seconds after which a stream ends and its browser asks for another: whoever may see nothing any more gets none."""
STUCK = 20.0
"""Seconds after which whoever takes nothing is let go."""
MOST = 500
"""Streams at a time."""


def with_streams(app: Application) -> Application:
    """The app with streams of what changes in its collection, and of what the tabs of a crawl show."""
    watch = ChangeWatch()
    return Streams(app, Hub(watch.look, watch.forget), Screens())


class Source(Protocol):
    """Where the events of a viewer come from."""

    def message(self, viewer: Viewer, /) -> bytes:
        """What it has not been told yet; empty if it knows everything."""

    def leave(self, viewer: Viewer, /) -> None: ...


class Streams:
    """The app, and after its answer to a request for events: the events."""

    def __init__(self, app: Application, hub: Hub, screens: Screens) -> None:
        self._app, self._hub, self._screens = app, hub, screens
        self._open = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not (scope["path"] == EVENTS or _crawl_on_screen(scope)):
            await self._app(scope, receive, send)
            return
        answer = _Answer()
        await self._app(scope, receive, answer.send)
        if not answer.is_stream or self._open >= MOST:
            await answer.forward(send)
            return
        self._open += 1
        try:
            await self._stream(scope, receive, send, answer)
        finally:
            self._open -= 1

    async def _stream(self, scope: Scope, receive: Receive, send: Send, answer: "_Answer") -> None:
        await send(answer.start)
        source, viewer = self._join(scope, answer)
        loop = asyncio.get_running_loop()
        end = loop.call_later(LIVES, viewer.leave)
        leaving = loop.create_task(_gone(receive))
        leaving.add_done_callback(lambda _: viewer.leave())
        try:
            await send(_part(answer.body))
            while True:
                await viewer.wake.wait()
                viewer.wake.clear()
                if viewer.is_gone:
                    break
                if message := source.message(viewer):
                    async with asyncio.timeout(STUCK):
                        await send(_part(message))
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except TimeoutError:
            return
        finally:
            source.leave(viewer)
            leaving.cancel()
            end.cancel()

    def _join(self, scope: Scope, answer: "_Answer") -> tuple[Source, Viewer]:
        if crawl_id := _crawl_on_screen(scope):
            screen = self._screens.of(crawl_id)
            return screen, screen.join()
        return self._hub, self._hub.join(answer.topics, _last_id(scope))


class _Answer:
    """What the app answers, put together."""

    def __init__(self) -> None:
        self._messages: list[Message] = []

    async def send(self, message: Message) -> None:
        self._messages.append(message)

    @property
    def start(self) -> Message:
        """Its first line and headers; a stream has no length, and its topics are ours."""
        first, ours = self._messages[0], (b"content-length", _HEADER)
        return {**first, "headers": [pair for pair in first["headers"] if pair[0].lower() not in ours]}

    @property
    def topics(self) -> frozenset[Topic]:
        """What its viewer may be told of."""
        return frozenset(self._header(_HEADER).decode("ascii").split())

    def _header(self, name: bytes) -> bytes:
        value: bytes = {key.lower(): value for key, value in self._messages[0]["headers"]}.get(name, b"")
        return value

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self._messages[1:])

    @property
    def is_stream(self) -> bool:
        return int(self._messages[0]["status"]) == 200 and self._header(b"content-type").startswith(KIND)

    async def forward(self, send: Send) -> None:
        for message in self._messages:
            await send(message)


def _part(body: bytes) -> Mapping[str, Any]:
    return {"type": "http.response.body", "body": body, "more_body": True}


def _crawl_on_screen(scope: Scope) -> UUID | None:
    """The crawl whose tabs are asked for."""
    path: str = scope["path"]
    if not (path.startswith(CRAWLS) and path.endswith(SCREENCAST)):
        return None
    return _key(path.removeprefix(CRAWLS).removesuffix(SCREENCAST))


def _key(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _last_id(scope: Scope) -> str:
    value: bytes = dict(scope["headers"]).get(b"last-event-id", b"")
    return value.decode("latin-1")


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
