"""Owns counting the requests that the app answers, with the time that each took."""

import time

from archivebox.web.server.request_gate import Application, Message, Receive, Scope, Send
from archivebox.workers.metrics import REQUESTS

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class RequestMetrics:
    """The app, and of each request its method, status and seconds; those of visitors who left have none."""

    def __init__(self, app: Application) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun, status = time.monotonic(), ""

        async def note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = str(message["status"])
            await send(message)

        await self._app(scope, receive, note)
        if status:
            method = scope["method"] if scope["method"] in _METHODS else "other"
            REQUESTS.labels(method, status).observe(time.monotonic() - begun)
