"""Takes the network events of a tab and of all that runs in it, and has each exchange kept with its body.

Bodies come in three ways, because none gives all of them (measured with Chromium 156): what the page asks for is
streamed as it arrives, so that what is aborted or never ends is there as far as it came; what cannot be streamed
(documents, scripts of workers) is asked for when it has ended, which durable messages keep past a navigation; what a
service worker fetches is taken before it gets it, since nothing else sees the bytes that it hands on, and so is what
comes with an error, of which the page may drop all that it does not want. A document that is a file (PDF, picture,
archive) is taken, too, and the browser told to download it, which it is forbidden.
"""

from __future__ import annotations

import base64
import json

from archivebox.plugins.base.answer_headers import is_page
from archivebox.plugins.base.cdp import CDPConnection, CommandFailed, TargetGone

from .documents import WISHES as OF_DOCUMENTS
from .documents import Documents
from .download import CutOff, Download, as_response
from .exchange import BODILESS, REDIRECTS, Chain, RecordedExchange
from .paused import body_of, header_of, is_file, is_short_frame, url_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from archivebox.plugins.base.cdp import CDPEvent, Params

    from .sockets import Sockets
    from .store import Store

ATTACH = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}
POST_MAX = 1 << 20  # bytes of a request's body that are told with it
BUFFER = 1 << 27  # bytes of bodies that wait in the browser to be asked for
ABORTED = "net::ERR_ABORTED"
ERRORS = 400  # the first status that says that something went wrong
FETCH_AGAIN = """fetch(%s).then(answer => answer.arrayBuffer())
    .then(body => btoa(Array.from(new Uint8Array(body), byte => String.fromCharCode(byte)).join("")))"""
EARLY_MAX = 1000  # bodies that wait for their request
EVERY_RESPONSE = {"patterns": [{"urlPattern": "*", "requestStage": "Response"}]}
SHARED_WORKERS = [{"type": "shared_worker"}, {"exclude": True}]  # of all tabs: they are nobody's children


class RecorderLimits:
    """Bytes: of one body, and of a URL that is itself a file; seconds that a navigation waits for that file."""

    def __init__(self, body: int, file: int, wait: float) -> None:
        self.body, self.file, self.wait = body, file, wait


class Recorder:
    """Listens on a connection to the browser, to the tab whose main frame is named; `store` keeps what is whole."""

    def __init__(
        self, connection: CDPConnection, main_frame: str, store: Store, limits: RecorderLimits, sockets: Sockets
    ) -> None:
        self._connection, self._main_frame, self._store, self._limits = connection, main_frame, store, limits
        self._shared_workers: dict[str, str] = {}  # by session
        self._requests: set[str] = set()  # that for the script of a shared worker has the worker's identifier
        self._chains: dict[str, Chain] = {}
        self._asked: dict[int, Callable[[Params | None], None]] = {}
        self._service_workers: set[str] = set()
        self._because = ""
        self._documents = Documents(self._ask)
        self.cut_off = CutOff(main_frame, self._fetch_cut_off)
        self._fetched_again: set[str] = set()
        self._early: dict[tuple[str, str], bytes] = {}  # bodies of errors whose request is not told of yet
        self._handlers: dict[str, Callable[[CDPEvent], None]] = {
            "Target.attachedToTarget": self._attached,
            "Target.detachedFromTarget": self._detached,
            "Page.frameRequestedNavigation": self._going,
            "Page.frameScheduledNavigation": self._going,
            "Page.frameNavigated": self._arrived,
            "Page.frameStoppedLoading": self._stopped,
            "Page.lifecycleEvent": self._lived,
            "Page.frameDetached": self._removed,
            "Network.requestWillBeSent": self._request,
            "Network.requestWillBeSentExtraInfo": self._sent_headers,
            "Network.responseReceived": self._response,
            "Network.responseReceivedExtraInfo": self._received_headers,
            "Network.requestServedFromCache": self._from_cache,
            "Network.dataReceived": self._data,
            "Network.loadingFinished": self._finished,
            "Network.loadingFailed": self._failed,
            "Fetch.requestPaused": self._paused,
            **sockets.takers,
        }

    def listen(self) -> None:
        """Have everything told from now on."""
        wish = {"targetId": self._main_frame, "flatten": True}
        self._connection.tab = self._connection.call("Target.attachToTarget", wish)["sessionId"]
        for method, params in (*self._set_up_calls(), *OF_DOCUMENTS, ("Fetch.enable", EVERY_RESPONSE)):
            self._connection.call(method, params, session=self._connection.tab)
        self._connection.call("Target.setAutoAttach", ATTACH | {"filter": SHARED_WORKERS})

    def handle_event(self, event: CDPEvent) -> None:
        """Handle an event, if it is one that matters."""
        handler = self._handlers.get(event.method)
        if handler is not None and self._is_ours(event.session):
            handler(event)

    def receive_replies(self) -> None:
        """Handle the replies that have come to what was asked."""
        for call in list(self._asked):
            try:
                answer = self._connection.reply(call)
            except CommandFailed:
                self._asked.pop(call)(None)
            else:
                if answer is not None:
                    self._asked.pop(call)(answer)

    @property
    def is_waiting(self) -> bool:
        """Whether answers are still to come."""
        return bool(self._asked)

    def finish(self) -> None:
        """Keep what has not ended as far as it came."""
        for identifier, chain in list(self._chains.items()):
            if chain.hops and not chain.last.complete:
                self._end_early(chain.last, "time", "not finished when the page was closed")
            self._save(identifier, waiting=False)

    # --- what is listened to ------------------------------------------------------------------------------------

    def _set_up_calls(self) -> tuple[tuple[str, Params], ...]:
        sizes = {"maxTotalBufferSize": BUFFER, "maxResourceBufferSize": min(self._limits.body, BUFFER)}
        return (
            ("Network.enable", {"maxPostDataSize": POST_MAX, **sizes}),
            ("Network.configureDurableMessages", sizes),
            ("Target.setAutoAttach", ATTACH),
        )

    def _attached(self, event: CDPEvent) -> None:
        """A frame or a worker is about to begin; it waits until we listen."""
        its, about = event.params["sessionId"], event.params["targetInfo"]
        if its == self._connection.tab:
            return
        if about["type"] == "shared_worker":
            self._shared_workers[its] = about["targetId"]
        for method, params in (*self._set_up_calls(), *(OF_DOCUMENTS if about["type"] == "iframe" else ())):
            self._connection.send(method, params, its)
        if about["type"] == "service_worker":
            self._service_workers.add(its)
            self._connection.send("Fetch.enable", EVERY_RESPONSE, its)
        self._connection.send("Runtime.runIfWaitingForDebugger", {}, its)

    def _detached(self, event: CDPEvent) -> None:
        if event.params["sessionId"] == self._connection.tab:
            raise TargetGone("the tab was closed")
        self._shared_workers.pop(event.params["sessionId"], None)

    def _is_ours(self, session: str) -> bool:
        """Whether a session is of our tab; a shared worker is, if it was the tab that asked for its script."""
        return session not in self._shared_workers or self._shared_workers[session] in self._requests

    def _ask(self, method: str, params: Params, session: str, on_reply: Callable[[Params | None], None]) -> None:
        """Ask; `on_reply` gets the answer, or None where there is none to be had."""
        self._asked[self._connection.begin(method, params, session)] = on_reply

    def _ask_about(
        self,
        hop: RecordedExchange,
        method: str,
        params: Params,
        session: str,
        on_reply: Callable[[Params | None], None],
    ) -> None:
        """Ask about an exchange; an answer is of no use after its end, or once its body is downloaded as a file."""
        self._ask(method, params, session, lambda answer: None if hop.complete or hop.is_file else on_reply(answer))

    # --- the life of a request ----------------------------------------------------------------------------------

    def _going(self, event: CDPEvent) -> None:
        params = event.params
        if params["frameId"] == self._main_frame:
            self._because = params["reason"]

    def _arrived(self, event: CDPEvent) -> None:
        """Another document is there: of the one before no end is told, even where all of it came."""
        frame = event.params["frame"]
        if frame["id"] == self._main_frame:
            self.cut_off.arrived()
            self._ask_for_what_is_there(lambda hop: hop.main and hop.loader != frame["loaderId"] and not hop.is_file)

    def _stopped(self, event: CDPEvent) -> None:
        """No more comes of a document whose loading was stopped."""
        if event.params["frameId"] == self._main_frame:
            self._ask_for_what_is_there(lambda hop: hop.main and not hop.is_file)
            self.cut_off.stopped()

    def _lived(self, event: CDPEvent) -> None:
        self._documents.took(event)
        self.cut_off.took(event)

    def _removed(self, event: CDPEvent) -> None:
        """A frame is gone, and no end is told of what it was loading."""
        self._ask_for_what_is_there(lambda hop: hop.frame == event.params["frameId"])

    def _ask_for_what_is_there(self, wanted: Callable[[RecordedExchange], bool]) -> None:
        for identifier, chain in list(self._chains.items()):
            if chain.hops and not chain.last.complete and chain.last.status and wanted(chain.last):
                self._ask_for_body(identifier, chain.last, self._connection.tab)

    def _request(self, event: CDPEvent) -> None:
        session, params = event.session, event.params
        identifier, url = params["requestId"], params["request"]["url"]
        if not url.startswith(("http://", "https://")):
            return
        self._requests.add(identifier)
        chain = self._chains.setdefault(identifier, Chain())
        main = (
            session == self._connection.tab
            and params.get("type") == "Document"
            and params.get("frameId") == self._main_frame
        )
        exchange = RecordedExchange(params, self._limits.body, main=main)
        if "redirectResponse" in params and chain.hops:
            self._redirected(chain.last, params, exchange.url)
        elif main:
            exchange.because, self._because = self._because, ""
        exchange.is_ours = exchange.url in self._fetched_again and not params.get("initiator", {}).get("url")
        chain.hops.append(exchange)
        if (body := self._early.pop((identifier, exchange.url), None)) is not None:
            exchange.add_body(body)
        if params.get("type") == "Document":
            self._documents.requested(identifier, exchange.url)
        else:
            self._stream(identifier, exchange, session)
        self._save(identifier)

    def _stream(self, identifier: str, hop: RecordedExchange, session: str) -> None:
        """Have the body sent as it comes; of a quick answer some, or all, has come before that is asked for."""

        def on_reply(answer: Params | None) -> None:
            if answer is not None and not (hop.taken or hop.body.size):
                hop.body.write(base64.b64decode(answer.get("bufferedData", "")))

        self._ask_about(hop, "Network.streamResourceContent", {"requestId": identifier}, session, on_reply)

    def _redirected(self, hop: RecordedExchange, params: Params, url: str) -> None:
        hop.answered(params["redirectResponse"], wire_headers=params.get("redirectHasExtraInfo", False))
        hop.redirected_to, hop.complete = url, True

    def _sent_headers(self, event: CDPEvent) -> None:
        params = event.params
        self._chains.setdefault(params["requestId"], Chain()).sent.append(params["headers"])

    def _received_headers(self, event: CDPEvent) -> None:
        params = event.params
        self._chains.setdefault(params["requestId"], Chain()).received.append(params)
        self._save(params["requestId"])

    def _hop(self, params: Params) -> RecordedExchange | None:
        """Return the exchange that an event is about, None where it is none of the network's (data:, blob:, …)."""
        chain = self._chains.get(params["requestId"])
        return chain.last if chain and chain.hops and not chain.last.complete else None

    def _response(self, event: CDPEvent) -> None:
        params = event.params
        hop = self._hop(params)
        if hop and not hop.is_file:
            hop.answered(params["response"], wire_headers=params.get("hasExtraInfo", False))
            if hop.is_viewers:
                self._documents.forget(params["requestId"])

    def _from_cache(self, event: CDPEvent) -> None:
        hop = self._hop(event.params)
        if hop:
            hop.source = "cache"

    def _data(self, event: CDPEvent) -> None:
        params = event.params
        hop = self._hop(params)
        if hop and not hop.taken:
            hop.announced += params["dataLength"]
            if "data" in params:
                hop.body.write(base64.b64decode(params["data"]))

    def _finished(self, event: CDPEvent) -> None:
        session, params = event.session, event.params
        hop = self._hop(params)
        if hop is None or hop.is_file:
            return
        hop.wire, hop.seconds, hop.ended = int(params["encodedDataLength"]), params["timestamp"] - hop.began, True
        streamed = hop.announced > 0 and hop.body.size + hop.body.cut >= min(hop.announced, hop.body.limit)
        if hop.taken or hop.has_no_body or streamed or not self._store.wants_body(hop):
            self._complete(params["requestId"], hop)
        else:
            self._ask_for_body(params["requestId"], hop, session)

    def _ask_for_body(self, identifier: str, hop: RecordedExchange, session: str) -> None:
        """Ask for the whole body, once: a document may be stopped, ended and replaced, each of which is told."""
        if hop.asked:
            return
        hop.asked = True

        def on_reply(answer: Params | None) -> None:
            # Chromium 156 gives an empty body at times, where it has told of bytes.
            if answer is not None and (answer["body"] or not hop.announced):
                hop.body.clear()
                hop.body.write(body_of(answer))
            elif hop.source == "service_worker" and hop.method == "GET" and hop.url not in self._fetched_again:
                self._fetch_again(identifier, hop, session)
                return
            elif hop.main and hop.status == 200 and hop.method == "GET" and hop.announced:
                self._fetch_anew(identifier, hop)
                return
            elif hop.announced > hop.body.size:
                hop.truncated = "length" if hop.announced >= hop.body.limit else "unspecified"
            if not (hop.ended or hop.is_whole):  # its loading was stopped, perhaps before any of it had come
                hop.truncated = hop.truncated or "disconnect"
            self._complete(identifier, hop)

        self._ask_about(hop, "Network.getResponseBody", {"requestId": identifier}, session, on_reply)

    def _fetch_again(self, identifier: str, hop: RecordedExchange, session: str) -> None:
        """Have the page fetch what a service worker made for it, of which the browser keeps nothing.

        It is streamed, but a quick one has come before that can be asked for.
        """

        def on_reply(answer: Params | None) -> None:
            found = answer["result"].get("value") if answer and "exceptionDetails" not in answer else None
            if found is None:
                hop.truncated = "unspecified"
            else:
                hop.add_body(base64.b64decode(found))
            self._complete(identifier, hop)

        self._fetched_again.add(hop.url)
        wish = {"expression": FETCH_AGAIN % json.dumps(hop.url), "awaitPromise": True, "returnByValue": True}
        self._ask_about(hop, "Runtime.evaluate", wish, session, on_reply)

    def _failed(self, event: CDPEvent) -> None:
        params = event.params
        hop = self._hop(params)
        if hop is None or hop.is_file:
            return
        hop.seconds = params["timestamp"] - hop.began
        if hop.main and params.get("canceled") and hop.status == 200 and not is_page(hop.mime):
            self._fetch_file(params["requestId"], hop)
        elif hop.taken or hop.status in BODILESS or hop.is_whole:
            self._complete(params["requestId"], hop)
        elif not hop.asked:
            error = params.get("blockedReason") or params["errorText"]
            self._ask_for_rest(params["requestId"], hop, event.session, error)

    def _ask_for_rest(self, identifier: str, hop: RecordedExchange, session: str, error: str) -> None:
        """End what was broken off; all of a stream that the page has closed may have come before we listened to it."""

        def on_reply(answer: Params | None) -> None:
            if answer is not None and len(data := body_of(answer)) > hop.body.size:
                hop.body.clear()
                hop.body.write(data)
            if not hop.is_whole:
                self._end_early(hop, "disconnect", error)
            self._complete(identifier, hop)
            if error == ABORTED and hop.error:
                self.cut_off.broke_off(hop)

        if hop.announced > hop.body.size and not hop.body.cut:
            hop.asked = True
            self._ask_about(hop, "Network.getResponseBody", {"requestId": identifier}, session, on_reply)
        else:
            on_reply(None)

    def _fetch_file(self, identifier: str, hop: RecordedExchange) -> None:
        """The browser saw by the bytes of a document without a type that it is none to show: nobody gets them."""
        hop.body.limit = self._limits.file
        self._fetch_anew(identifier, hop)

    def _fetch_anew(self, identifier: str, hop: RecordedExchange, end: Callable[[], None] | None = None) -> None:
        """The browser drops what came of a document whose loading was stopped: have it once more, while it is shown."""
        Download(self._ask, self._connection.tab, hop, end or (lambda: self._complete(identifier, hop))).fetch()

    def _fetch_cut_off(self, hop: RecordedExchange) -> None:
        identifier = f"again {id(hop)}"
        self._chains.setdefault(identifier, Chain()).hops.append(hop)

        def end() -> None:
            hop.error = "" if hop.status else ABORTED
            self._complete(identifier, hop)
            self.cut_off.ended(hop)

        self._fetch_anew(identifier, hop, end)

    def _end_early(self, hop: RecordedExchange, truncated: str, error: str) -> None:
        """End an exchange before all of it has come. ``truncated``: the reason, as WARC-Truncated names it."""
        hop.error, hop.complete = error, True
        if hop.status and not hop.has_no_body:
            hop.truncated = truncated

    def _complete(self, identifier: str, hop: RecordedExchange) -> None:
        hop.complete = True
        if hop.body.cut:
            hop.truncated = "length"
        self._save(identifier)

    def _save(self, identifier: str, *, waiting: bool = True) -> None:
        chain = self._chains[identifier]
        for hop in chain.pop_complete(waiting=waiting):
            if not (hop.is_ours or hop.is_viewers):
                self._store.save(hop)
        if chain.is_saved:
            del self._chains[identifier]

    # --- bodies that are taken before the page gets them --------------------------------------------------------

    def _paused(self, event: CDPEvent) -> None:
        session, params = event.session, event.params
        hop, status = self._hop_at(params), params.get("responseStatusCode", 0)
        if hop is None and not self._is_main(params) and (status >= ERRORS or is_short_frame(params)):
            self._keep_and_continue(session, params, None)
        elif hop is None or "responseErrorReason" in params or status in REDIRECTS | BODILESS:
            self._go_on(session, params)
        elif params["networkId"] in self._shared_workers.values():  # its script, of which no response is told
            hop.answered(as_response(params), wire_headers=True)
            self._go_on(session, params)
        elif session in self._service_workers or (not hop.main and (status >= ERRORS or is_short_frame(params))):
            self._keep_and_continue(session, params, hop)
        elif hop.main and status == 200 and is_file(params, self._limits.body):
            hop.body.limit = self._limits.file
            download = Download(self._ask, session, hop, lambda: self._complete(params["networkId"], hop))
            download.fetch_body(params, self._limits.wait)
        else:
            self._go_on(session, params)

    def _go_on(self, session: str, params: Params) -> None:
        self._connection.send("Fetch.continueRequest", {"requestId": params["requestId"]}, session)

    def _hop_at(self, paused: Params) -> RecordedExchange | None:
        hop = self._hop({"requestId": paused.get("networkId", "")})
        return hop if hop is not None and hop.url == url_of(paused) else None

    def _is_main(self, params: Params) -> bool:
        return (params["resourceType"], params["frameId"]) == ("Document", self._main_frame)

    def _keep_and_continue(self, session: str, params: Params, hop: RecordedExchange | None) -> None:
        """Take the body; what waits may be told of before its request (`hop` is None), which another process tells."""
        length = header_of(params, "content-length")
        too_large = length.isdigit() and int(length) > self._limits.body
        if too_large or header_of(params, "content-type") == "text/event-stream":
            self._go_on(session, params)
            return

        def on_reply(answer: Params | None) -> None:
            if answer is not None:
                its = hop or self._hop_at(params)
                if its is not None:
                    its.add_body(body_of(answer))
                elif len(self._early) < EARLY_MAX:
                    self._early[params.get("networkId", ""), url_of(params)] = body_of(answer)
            self._go_on(session, params)

        self._ask("Fetch.getResponseBody", {"requestId": params["requestId"]}, session, on_reply)
