"""What the recorder makes of events in an order that a real browser tells only on a busy machine."""

from __future__ import annotations

import base64
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from archivebox.plugins.base.cdp import CDPConnection, CDPEvent
from archivebox.plugins.base.responses import Archive
from archivebox.plugins.responses.recorder import Recorder, RecorderLimits
from archivebox.plugins.responses.recorder.addresses import Addresses
from archivebox.plugins.responses.recorder.sockets import Sockets
from archivebox.plugins.responses.recorder.store import Store

URL = "http://127.0.0.1:8/"
BODY = b"<title>Harbour</title>"
TAB, FRAME, LOADER = "tab", "frame", "loader-1"


class Browser:
    """The other end of a recorder's connection: tells what it is told to, and answers when it is told to."""

    def __init__(self, folder: Path) -> None:
        ours, theirs = socket.socketpair()
        self.stream, self.connection = ours, CDPConnection(theirs)
        self.connection.tab = TAB
        self.store = Store(str(folder / "test.warc"), frozenset(), {}, Addresses(""), None)
        limits = RecorderLimits(1 << 20, 1 << 20, 1.0)
        self.recorder = Recorder(self.connection, FRAME, self.store, limits, Sockets(1 << 20))

    def tell(self, method: str, **params: Any) -> None:
        self.recorder.handle_event(CDPEvent(method, params, TAB))

    def asked(self) -> list[dict[str, Any]]:
        """What the recorder has asked since."""
        self.stream.setblocking(False)
        try:
            return [json.loads(message) for message in self.stream.recv(1 << 16).split(b"\0") if message]
        except BlockingIOError:
            return []

    def answer(self, asked: dict[str, Any], **result: Any) -> None:
        self.stream.sendall(json.dumps({"id": asked["id"], "result": result}).encode() + b"\0")
        assert self.connection.next_event(1.0) is None
        self.recorder.receive_replies()

    def close(self) -> None:
        self.connection.close()
        self.stream.close()


@pytest.fixture
def browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Browser]:
    monkeypatch.chdir(tmp_path)
    browser = Browser(tmp_path)
    yield browser
    browser.close()


def tell_of_a_document(browser: Browser, mime: str, size: int = len(BODY)) -> None:
    request = {"url": URL, "method": "GET", "headers": {}}
    response = {"status": 200, "statusText": "OK", "headers": {}, "mimeType": mime, "remoteIPAddress": "127.0.0.1"}
    where = {"requestId": LOADER, "loaderId": LOADER, "frameId": FRAME, "type": "Document"}
    browser.tell("Network.requestWillBeSent", request=request, wallTime=1.0, timestamp=1.0, **where)
    browser.tell("Network.responseReceived", response=response, **where)
    browser.tell("Network.dataReceived", requestId=LOADER, dataLength=size)


ENDS: dict[str, dict[str, Any]] = {
    "Page.frameStoppedLoading": {"frameId": FRAME},
    "Page.frameNavigated": {"frame": {"id": FRAME, "loaderId": "loader-2"}},
    "Page.frameDetached": {"frameId": FRAME},
    "Network.loadingFailed": {"requestId": LOADER, "timestamp": 2.0, "errorText": "net::ERR_ABORTED", "canceled": True},
    "Network.loadingFinished": {"requestId": LOADER, "timestamp": 2.0, "encodedDataLength": 30},
}


@pytest.mark.parametrize("body", [BODY, b""], ids=["had", "nothing"])
def test_a_page_whose_own_document_is_empty_is_known_as_that(browser: Browser, *, body: bytes) -> None:
    tell_of_a_document(browser, "text/html", len(body))
    browser.tell("Network.loadingFinished", **ENDS["Network.loadingFinished"])
    (asked,) = (one for one in browser.asked() if one["method"] == "Network.getResponseBody")
    browser.answer(asked, body=body.decode(), base64Encoded=False)
    assert browser.store.is_empty_page is not bool(body)


def test_a_document_that_broke_off_before_its_first_byte_is_no_empty_page(browser: Browser) -> None:
    """As when its renderer is killed: the page is opened anew."""
    tell_of_a_document(browser, "text/html", 0)
    browser.tell("Network.loadingFailed", **ENDS["Network.loadingFailed"])
    browser.recorder.finish()
    assert browser.store.count == 1
    assert not browser.store.is_empty_page


@pytest.mark.parametrize("first", ENDS)
@pytest.mark.parametrize("second", ENDS)
@pytest.mark.parametrize("body", [BODY, b""], ids=["had", "dropped"])
@pytest.mark.parametrize("mime", ["text/html", "application/pdf"])
def test_a_document_whose_end_is_told_twice_is_kept_once(
    browser: Browser, tmp_path: Path, *, first: str, second: str, body: bytes, mime: str
) -> None:
    tell_of_a_document(browser, mime)
    browser.tell(first, **ENDS[first])
    browser.tell(second, **ENDS[second])
    while asked := browser.asked():
        for one in asked:
            answers: dict[str, dict[str, Any]] = {
                "Network.getResponseBody": {"body": base64.b64encode(body).decode(), "base64Encoded": True},
                "Network.loadNetworkResource": {"resource": {"stream": "1"}},
                "IO.read": {"data": base64.b64encode(BODY).decode(), "base64Encoded": True, "eof": True},
            }
            browser.answer(one, **answers.get(one["method"], {}))
            browser.tell(second, **ENDS[second])
    browser.recorder.finish()
    browser.store.close()
    (kept,) = Archive(str(tmp_path)).responses()
    assert (kept.url, kept.status) == (URL, 200)
    assert not browser.recorder.is_waiting
