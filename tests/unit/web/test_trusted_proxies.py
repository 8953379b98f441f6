"""What a proxy says of its visitors is believed of those that are listed, and of nobody else."""

import asyncio

import pytest

from archivebox.web.server.request_gate import Message, Receive, Scope, Send
from archivebox.web.server.trusted_proxies import Proxies

OURS, ALSO_OURS, VISITOR = "10.0.0.2", "fd00::7", "192.0.2.9"


def seen(peer: str, *headers: tuple[str, str], user_header: str = "Remote-User", below: str = "") -> Scope:
    """What the app sees of a request."""
    got: list[Scope] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        del receive, send
        got.append(scope)

    async def nothing() -> Message:
        return {"type": "http.disconnect"}

    async def nowhere(message: Message) -> None:
        del message

    sent = [(name.lower().encode(), value.encode()) for name, value in headers]
    scope: Scope = {"type": "http", "client": (peer, 4711), "scheme": "http", "path": "/health/", "headers": sent}
    asyncio.run(Proxies(app, ["10.0.0.0/24", ALSO_OURS], user_header, below)(scope, nothing, nowhere))
    return got[0]


@pytest.mark.parametrize("peer", [OURS, ALSO_OURS, f"::ffff:{OURS}"])
def test_a_listed_proxy_says_who_asks_how_and_who_that_is(peer: str) -> None:
    scope = seen(peer, ("X-Forwarded-For", VISITOR), ("X-Forwarded-Proto", "https"), ("Remote-User", "eve"))
    assert (scope["client"][0], scope["scheme"]) == (VISITOR, "https")
    assert (b"remote-user", b"eve") in scope["headers"]


@pytest.mark.parametrize("peer", ["10.0.1.2", VISITOR, "", "unix:"])
def test_nobody_else_is_believed(peer: str) -> None:
    scope = seen(peer, ("X-Forwarded-For", "198.51.100.1"), ("Remote-User", "admin"), ("Accept", "*/*"))
    assert (scope["client"][0], scope["scheme"]) == (peer, "http")
    assert scope["headers"] == [(b"accept", b"*/*")]


def test_of_many_the_last_that_is_no_proxy_of_ours_counts() -> None:
    """Whatever a visitor sends stands before what our proxies add."""
    lines = (("X-Forwarded-For", "127.0.0.1, 198.51.100.1"), ("X-Forwarded-For", f"{VISITOR}, {ALSO_OURS}"))
    assert seen(OURS, *lines)["client"][0] == VISITOR
    assert seen(OURS)["client"][0] == OURS
    assert seen(OURS, ("X-Forwarded-For", " , "))["client"][0] == OURS


def test_a_header_with_an_underscore_passes_for_no_other() -> None:
    assert seen(OURS, ("Remote_User", "admin"))["headers"] == []


def test_without_its_name_no_header_says_who_somebody_is() -> None:
    assert (b"remote-user", b"eve") in seen(VISITOR, ("Remote-User", "eve"), user_header="")["headers"]


def test_an_address_is_whole_also_where_a_proxy_took_its_beginning_away() -> None:
    assert seen(OURS, below="/archive")["path"] == "/archive/health/"
    assert seen(OURS, below="/health")["path"] == "/health/"
