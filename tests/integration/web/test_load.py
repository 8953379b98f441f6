"""Idle, slow and greedy visitors take nothing from others."""

import http.client
import resource
import select
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import pytest

from tests.webserver.fixtures import Library

pytestmark = pytest.mark.once

IDLE, SLOW, FLOOD = 200, 60, 1_100
FORM = b"Content-Type: application/x-www-form-urlencoded\r\n"


@pytest.fixture(scope="module")
def library(shared_library: Library) -> Library:
    return shared_library


@contextmanager
def held(port: int, count: int, begin: bytes) -> Iterator[list[socket.socket]]:
    """``count`` connections that have sent ``begin`` and then say nothing more."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_connection(("127.0.0.1", port), 15)) for _ in range(count)]
        for each in sockets:
            each.sendall(begin)
        yield sockets


def request(path: str, port: int, more: bytes = b"", method: str = "POST") -> bytes:
    return f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n".encode() + FORM + more + b"\r\n"


def answer_to(port: int, sent: bytes) -> int:
    """The status of the answer, which comes before the rest of what was announced is sent."""
    with socket.create_connection(("127.0.0.1", port), 15) as connection:
        connection.sendall(sent)
        return int(connection.makefile("rb").readline().split()[1])


@pytest.mark.parametrize("begin", [b"", b"GET / HTTP/1.1\r\nHost: "])
def test_idle_connections_hold_nobody_up(library: Library, begin: bytes) -> None:
    server = library.server
    with held(server.port, IDLE, begin), held(server.replay_port, IDLE, begin):
        assert server.ask("/health/").status == 200
        assert server.ask("/x/", port=server.replay_port).status == 403
        assert server.ask("/health/").status == 200


def test_idle_connections_of_one_address_hold_no_other_up(library: Library) -> None:
    """The server closes all but a quarter of what it takes, and these only once it has waited for them in vain."""
    server, most = library.server, 250
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4_096) if hard != resource.RLIM_INFINITY else 4_096, hard))
    with held(server.port, FLOOD, b"") as sockets:
        other = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30, source_address=("127.0.0.2", 0))
        other.request("GET", "/health/")
        assert other.getresponse().status == 200
        other.close()
        server.wait_for(lambda: ended_of(sockets) >= FLOOD - most, 90)
        assert ended_of(sockets) == FLOOD - most


def ended_of(sockets: list[socket.socket]) -> int:
    """How many the server has closed."""
    poll = select.poll()
    for each in sockets:
        poll.register(each, select.POLLIN)
    return len(poll.poll(0))


def test_slow_bodies_hold_nobody_up(library: Library) -> None:
    server = library.server
    slow = request("/login/", server.port, b"Content-Length: 500\r\n") + b"username="
    with held(server.port, SLOW, slow), held(server.replay_port, SLOW, slow):
        assert server.ask("/health/").status == 200
        assert server.ask("/x/", port=server.replay_port).status == 403


def test_a_body_that_says_it_is_too_large_is_refused_before_it_is_sent(library: Library) -> None:
    port = library.server.port
    assert answer_to(port, request("/login/", port, b"Content-Length: 200000000\r\n")) == 413
    assert answer_to(port, request("/login/", port, b"Content-Length: 99999999999999999999\r\n")) in {400, 413}


def test_a_body_that_does_not_say_its_length_is_cut_off(library: Library) -> None:
    port = library.server.port
    first = b""
    with socket.create_connection(("127.0.0.1", port), 15) as connection:
        connection.sendall(request("/login/", port, b"Transfer-Encoding: chunked\r\n"))
        with suppress(ConnectionError):  # it hangs up on who goes on sending, and its answer may be lost in that
            for _ in range(200):
                connection.sendall(b"f4240\r\n" + b"x" * 1_000_000 + b"\r\n")
            connection.sendall(b"0\r\n\r\n")
        with suppress(ConnectionError):
            first = connection.makefile("rb").readline()
    assert first.split()[1:2] in ([b"413"], [])
    assert library.server.ask("/health/").status == 200


def test_a_body_of_the_allowed_size_is_read(library: Library) -> None:
    port = library.server.port
    body = b"urls=" + b"x" * 9_000_000
    sent = request("/login/", port, f"Content-Length: {len(body)}\r\n".encode()) + body
    assert answer_to(port, sent) == 403, "it has no token, and that was read"
