"""Who may upload sends larger bodies; everybody else is told before the first byte."""

import asyncio
import json

import pytest

from archivebox.web.server.request_gate import BODY_MOST, UPLOAD_MOST, Message, Receive, RequestGate, Scope, Send


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


async def answer_to(size: int, *, is_editor: bool, accept: bytes = b"*/*") -> list[Message]:
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"x" * size, "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    headers = [(b"content-length", str(size).encode()), (b"accept", accept)]
    await RequestGate(app, editors)({"headers": headers, "is_editor": is_editor}, receive, send)
    return sent


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
    assert asyncio.run(answer_to(size, is_editor=is_editor))[0]["status"] == status


def test_who_reads_pages_is_refused_by_one_and_a_program_by_problem_details() -> None:
    start, problem = asyncio.run(answer_to(BODY_MOST + 1, is_editor=False))
    assert (b"content-type", b"application/problem+json; charset=utf-8") in start["headers"]
    assert json.loads(problem["body"])["detail"].startswith("Request too large: 10 MB is the limit.")
    start, page = asyncio.run(answer_to(BODY_MOST + 1, is_editor=False, accept=b"text/html,*/*;q=0.8"))
    assert (b"content-type", b"text/html; charset=utf-8") in start["headers"]
    assert b"<h1>Request too large</h1>" in page["body"]
