"""Each request is counted by its method and status, with its time."""

import asyncio

from archivebox.web.server.request_gate import Message, Receive, Scope, Send
from archivebox.web.server.request_metrics import RequestMetrics
from archivebox.workers.metrics import REQUESTS


async def teapot(scope: Scope, receive: Receive, send: Send) -> None:
    del scope, receive
    await send({"type": "http.response.start", "status": 418, "headers": []})
    await send({"type": "http.response.body", "body": b"short and stout"})


async def gone(scope: Scope, receive: Receive, send: Send) -> None:
    """What becomes of a request whose visitor has left: there is no answer."""


async def nothing() -> Message:
    return {"type": "http.disconnect"}


async def nowhere(message: Message) -> None:
    del message


def counted(method: str) -> float:
    wanted = {"method": method, "status": "418"}
    samples = [sample for family in REQUESTS.collect() for sample in family.samples]
    return sum(sample.value for sample in samples if sample.name.endswith("_count") and sample.labels == wanted)


def test_requests_are_counted_and_methods_that_nobody_knows_are_one() -> None:
    before = counted("GET"), counted("other")
    for app, method in ((teapot, "GET"), (teapot, "BREW"), (teapot, "WHEN"), (gone, "GET")):
        asyncio.run(RequestMetrics(app)({"type": "http", "method": method}, nothing, nowhere))
    assert (counted("GET") - before[0], counted("other") - before[1]) == (1, 2)
