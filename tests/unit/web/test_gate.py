"""Who may upload sends larger bodies; everybody else is told before the first byte."""

from __future__ import annotations

import asyncio

import pytest

from archivebox.web.gate import BODY_MOST, UPLOAD_MOST, Gate, Message, Receive, Scope, Send


async def app(_scope: Scope, receive: Receive, send: Send) -> None:
    received = 0
    while True:
        message = await receive()
        received += len(message["body"])
        if not message["more_body"]:
            break
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": str(received).encode()})


async def editors(scope: Scope) -> bool:
    return bool(scope["is_editor"])


async def status_of(size: int, *, is_editor: bool) -> int:
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"x" * size, "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    headers = [(b"content-length", str(size).encode())]
    await Gate(app, editors)({"headers": headers, "is_editor": is_editor}, receive, send)
    return int(sent[0]["status"])


@pytest.mark.parametrize(
    ("size", "is_editor", "status"),
    [
        (BODY_MOST, False, 200),
        (BODY_MOST + 1, False, 413),
        (BODY_MOST + 1, True, 200),
        (UPLOAD_MOST + 1, True, 413),
    ],
)
def test_a_body_may_be_as_large_as_who_sends_it_may(size: int, is_editor: bool, status: int) -> None:
    assert asyncio.run(status_of(size, is_editor=is_editor)) == status
