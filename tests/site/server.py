"""Owns the listening sockets and threads of the local web: started, counted and stopped as one thing."""

from __future__ import annotations

import errno
import hashlib
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self
from urllib.parse import urlsplit

from tests.site.gitrepo import make_repository
from tests.site.routes import find
from tests.site.wire import TEXT, Counters, Request, Response

LOOPBACK = ("127.0.0.1", "127.0.0.2", "127.0.0.3")
LARGEST_BODY = 16 * 1024 * 1024
PORT_TRIES = 20
PATIENCE = 90.0
"""Seconds after which a request that a test waits for will not come, also on a loaded machine."""
POSTED = frozenset({"/echo", "/api/graphql"})
"""Pages that take other methods than GET and HEAD."""


class Hit(NamedTuple):
    """One request as the site saw it."""

    method: str
    path: str
    """With the query, as sent."""
    headers: dict[str, str]
    """Names in lower case."""


class Served(NamedTuple):
    """One answer as the site gave it."""

    method: str
    url: str
    status: int
    body: str
    """SHA-256 of the bytes that were written, in hexadecimal; of a body that was cut off, those before."""


class _Handler(BaseHTTPRequestHandler):
    """Turns a connection into requests and responses; pages know nothing of sockets."""

    protocol_version = "HTTP/1.1"
    server_version = "LocalWeb"
    sys_version = ""
    wbufsize = -1  # headers and a small body leave in one packet
    disable_nagle_algorithm = True
    server: _Listener

    def do_GET(self) -> None:
        self._answer()

    do_HEAD = do_POST = do_PUT = do_DELETE = do_OPTIONS = do_GET  # noqa: N815 - names set by http.server

    def _answer(self) -> None:
        request = self._request()
        self.server.site.requests.append(Hit(self.command, self.path, dict(request.headers)))
        response = self._refuse(request) or find(request.path).handler(request)
        if response is None:
            self.close_connection = True
            return
        digest = hashlib.sha256()
        try:
            self._send(response, digest.update)
        finally:
            url = f"{request.origins[0]}{self.path}"
            self.server.site.served.append(Served(self.command, url, response.status, digest.hexdigest()))

    def _request(self) -> Request:
        site = self.server.site
        headers: dict[str, str] = {}
        for name, value in self.headers.items():
            lower = name.lower()
            headers[lower] = f"{headers[lower]}, {value}" if lower in headers else value
        path, _, query = self.path.partition("?")
        if path.startswith("http://"):  # absolute form, as proxies are asked (RFC 9112, 3.2.2)
            path = urlsplit(path).path or "/"
        length = headers.get("content-length", "0")
        wanted = int(length) if length.isascii() and length.isdigit() else 0
        body = self.rfile.read(wanted) if wanted <= LARGEST_BODY else b""
        asked = "http://" + headers.get("host", f"{self.server.server_address[0]!s}:{site.port}")
        origins = (asked, site.other_url.rstrip("/"), site.third_url.rstrip("/"))
        return Request(
            method=self.command,
            path=path,
            query=query,
            headers=headers,
            body=body,
            client=str(self.client_address[0]),
            origins=origins,
            counters=site.counters,
            git_folder=site.git_folder,
            connection=self.connection,
        )

    def _refuse(self, request: Request) -> Response | None:
        """Bodies we do not read would be taken for the next request, so such connections are closed."""
        close = (("Connection", "close"),)
        if "transfer-encoding" in request.headers:
            return Response(b"send a Content-Length\n", TEXT, 411, close)
        if request.headers.get("content-length", "0") != str(len(request.body)):
            return Response(b"too large, or not a length\n", TEXT, 413, close)
        if request.method not in {"GET", "HEAD"} and request.path not in POSTED:
            return Response(b"only few pages take this method\n", TEXT, 405, (("Allow", "GET, HEAD"),))
        return None

    def _send(self, response: Response, wrote: Callable[[bytes], None]) -> None:
        self.send_response(response.status)
        if response.type is not None:
            self.send_header("Content-Type", response.type)
        if response.status not in {204, 304}:  # neither has a body (RFC 9110, 8.6)
            self.send_header("Content-Length", str(response.content_length))
        for name, value in response.headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.flush()
        if self.command == "HEAD" or response.status in {204, 304}:
            return
        sent = 0
        for part in _parts(response.body):
            self.wfile.write(part)
            self.wfile.flush()
            wrote(part)
            sent += len(part)
        if sent != response.content_length:
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - signature of http.server
        """Quiet: `Site.requests` is the log."""


def _parts(body: bytes | Iterator[bytes]) -> Iterator[bytes]:
    return iter((body,)) if isinstance(body, bytes) else body


class _Listener(ThreadingHTTPServer):
    """One address of the site, knowing its open connections so that it can end them."""

    request_queue_size = 128
    daemon_threads = False
    block_on_close = True  # `server_close` joins the threads, which `stop` has made end
    allow_reuse_address = True

    def __init__(self, address: tuple[str, int], site: Site) -> None:
        self.site = site
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        super().__init__(address, _Handler)
        self._thread = threading.Thread(target=self.serve_forever, args=(0.05,), name=f"site {address[0]}")

    def server_bind(self) -> None:
        """Bind without the reverse look-up of the address that HTTPServer does."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Take no more connections, cut the open ones, wait for every thread."""
        if self._thread.is_alive():
            self.shutdown()
            self._thread.join()
        with self._lock:
            for connection in self._open:
                _cut(connection)
        self.server_close()

    def process_request(self, request: socket.socket | tuple[bytes, socket.socket], client_address: object) -> None:
        if isinstance(request, socket.socket):
            with self._lock:
                self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: socket.socket | tuple[bytes, socket.socket]) -> None:
        if isinstance(request, socket.socket):
            with self._lock:
                self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: socket.socket | tuple[bytes, socket.socket], client_address: object) -> None:
        """A client that leaves is daily business; anything else is a mistake of ours and is printed."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def _cut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError as gone:
        if gone.errno not in {errno.ENOTCONN, errno.EBADF}:
            raise


class Site:
    """The local web on three loopback addresses of one port (three origins); Linux, where all of 127/8 is loopback.

    Raises OSError where the port is taken. The port is free and no thread is left after `stop`.
    """

    def __init__(self, host: str = "127.0.0.1", port: int = 0) -> None:
        self.requests: list[Hit] = []
        self.served: list[Served] = []
        self.counters = Counters()
        self.git_folder: Path | None = None
        self._host = host
        self._wanted_port = port
        self._listeners: list[_Listener] = []
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self.port = port

    def start(self) -> Self:
        self._listeners = self._listen()
        self.port = self._listeners[0].server_port
        self._folder = tempfile.TemporaryDirectory(prefix="local-web-")
        self.git_folder = make_repository(Path(self._folder.name))
        for listener in self._listeners:
            listener.start()
        return self

    def stop(self) -> None:
        for listener in self._listeners:
            listener.stop()
        self._listeners = []
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def _listen(self) -> list[_Listener]:
        """A port the system gives us on one address may be taken on the next: ask again."""
        for tries_left in reversed(range(PORT_TRIES)):
            found: list[_Listener] = []
            port = self._wanted_port
            try:
                for host in self._hosts():
                    found.append(_Listener((host, port), self))
                    port = found[0].server_port
            except OSError as error:
                for listener in found:
                    listener.stop()
                if error.errno != errno.EADDRINUSE or self._wanted_port or not tries_left:
                    raise
            else:
                return found
        raise AssertionError("unreachable: the last try raises")

    def _hosts(self) -> tuple[str, ...]:
        """0.0.0.0 already covers every loopback address."""
        if self._host == "0.0.0.0":
            return (self._host,)
        return (self._host, *(host for host in LOOPBACK[1:] if host != self._host))

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """`http://127.0.0.1:PORT/`, with the slash."""
        return f"http://{LOOPBACK[0] if self._host == '0.0.0.0' else self._host}:{self.port}/"

    @property
    def other_url(self) -> str:
        """The same pages on 127.0.0.2: another origin."""
        return f"http://{LOOPBACK[1]}:{self.port}/"

    @property
    def third_url(self) -> str:
        """The same pages on 127.0.0.3."""
        return f"http://{LOOPBACK[2]}:{self.port}/"

    def url_for(self, path: str) -> str:
        """The address of `path` (`/article`, `/slow?ms=20`) on the first origin."""
        return self.url + path.removeprefix("/")

    def hits(self, path: str) -> int:
        """How many requests asked for `path` on any origin; without `?`, whatever their query."""
        return sum(path in {hit.path, hit.path.partition("?")[0]} for hit in list(self.requests))

    def wait_for_request(self, path: str, times: int = 1) -> None:
        """Wait until `path` has been asked for so often; AssertionError where it never is."""
        deadline = time.monotonic() + PATIENCE
        while self.hits(path) < times:
            assert time.monotonic() < deadline, f"{path} was never asked for"
            time.sleep(0.02)

    def forget(self) -> None:
        """Empty `requests`, `served` and the counters of pages that remember their clients."""
        self.requests.clear()
        self.served.clear()
        self.counters.clear()
