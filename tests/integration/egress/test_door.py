"""What goes out through the proxy, what does not, and what it says of both."""

import asyncio
import os
import socket
import subprocess
from ipaddress import ip_address
from pathlib import Path
from typing import NoReturn

import psutil
import pytest

from archivebox.lib.egress import DialRules, Endpoint, Upstream
from archivebox.lib.egress.proxy_requests import ProxyRequest, read_proxy_request
from archivebox.lib.networks import NetworkRules, OpenedNetworks
from tests.integration.egress.conftest import OpenDoor, Proxy, read_all
from tests.site.serve import Site

LOOPBACK_OPEN = DialRules(NetworkRules(OpenedNetworks.parse(["127.0.0.0/8"])))
PRIVATE = "it is on a private network"


def named(*places: tuple[str, int]) -> DialRules:
    async def is_named(place: Endpoint) -> bool:
        return place in places

    return DialRules(is_named=is_named)


def curl(proxy: Proxy, url: str, *options: str) -> tuple[int, str]:
    done = subprocess.run(
        ["curl", "-sS", "--max-time", "20", "--noproxy", "", *options, url],
        env={"http_proxy": proxy.url, "https_proxy": proxy.url, "PATH": "/usr/bin:/bin"},
        capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def test_a_seed_is_reached_and_its_neighbours_are_not(site: Site, open_door: OpenDoor) -> None:
    proxy = open_door(named(("127.0.0.1", site.port)))
    assert "On Keeping Pages" in curl(proxy, site.url_for("/article"))[1]
    other = curl(proxy, f"{site.other_url}article", "-i")[1]
    assert other.startswith("HTTP/1.1 403 ArchiveBox did not connect to 127.0.0.2:")
    assert PRIVATE in other
    assert "Proxy-Status: archivebox; error=private_address" in other
    assert PRIVATE in curl(proxy, "http://127.0.0.1:9/")[1]


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1", "10.0.0.1", "192.168.1.1", "172.16.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1",
        "255.255.255.255", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]",
        "[64:ff9b::7f00:1]", "[64:ff9b::a9fe:a9fe]", "[2002:7f00:1::]", "[fe80::1]", "[fc00::1]", "[ff02::1]",
        "localhost", "a.localhost", "127.1", "0x7f000001", "2130706433", "0177.0.0.1",
    ],
)  # fmt: skip
def test_however_a_private_address_is_written_it_is_refused(open_door: OpenDoor, host: str) -> None:
    proxy = open_door()
    for request in (f"CONNECT {host}:443 HTTP/1.1\r\n\r\n", f"GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n"):
        assert proxy.ask(request).startswith(b"HTTP/1.1 403 ")
    reply, stream = proxy.socks(host.strip("[]"), 443)
    stream.close()
    assert reply == 2
    assert {line["event"] for line in proxy.log()} == {"refused"}


def test_a_name_that_leads_inside_is_refused_though_it_was_given(site: Site, open_door: OpenDoor) -> None:
    """An operator who archives a page of the web has not opened his own network to whoever holds its name."""
    proxy = open_door(named(("evil.example", site.port)), names=lambda _name: [ip_address("127.0.0.1")])
    assert f"evil.example:{site.port}: {PRIVATE} (127.0.0.1)" in curl(proxy, f"http://evil.example:{site.port}/")[1]


def test_what_was_checked_is_what_is_connected_to(site: Site, open_door: OpenDoor) -> None:
    """A name that answers otherwise the second time is checked the second time, and never asked in between."""
    answers = iter(["127.0.0.1", "127.0.0.2", "127.0.0.1"])
    rules = DialRules(NetworkRules(OpenedNetworks.parse([f"127.0.0.1:{site.port}"])))
    proxy = open_door(rules, names=lambda _name: [ip_address(next(answers))])
    url = f"http://rebinding.example:{site.port}/article"
    assert "On Keeping Pages" in curl(proxy, url)[1]
    assert f"{PRIVATE} (127.0.0.2)" in curl(proxy, url)[1]
    assert "On Keeping Pages" in curl(proxy, url)[1]
    assert [line.get("address") for line in proxy.log() if line["event"] == "connected"] == ["127.0.0.1"] * 2


def test_of_several_addresses_only_those_that_may_be_are_tried(site: Site, open_door: OpenDoor) -> None:
    addresses = [ip_address("127.0.0.2"), ip_address("::ffff:127.0.0.1")]
    rules = DialRules(NetworkRules(OpenedNetworks.parse([f"127.0.0.1:{site.port}"])))
    proxy = open_door(rules, names=lambda _name: addresses)
    assert "On Keeping Pages" in curl(proxy, f"http://two.example:{site.port}/article")[1]
    assert proxy.log()[0]["address"] == "127.0.0.1"


def test_an_address_that_does_not_answer_holds_up_none(site: Site, open_door: OpenDoor) -> None:
    addresses = [ip_address("127.0.0.9"), ip_address("127.0.0.1")]  # nobody listens at the first
    proxy = open_door(LOOPBACK_OPEN, names=lambda _name: addresses)
    assert "On Keeping Pages" in curl(proxy, f"http://two.example:{site.port}/article")[1]


def test_a_redirect_into_another_port_of_this_machine_is_refused(site: Site, open_door: OpenDoor) -> None:
    proxy = open_door(named(("127.0.0.1", site.port)))
    assert f"127.0.0.2:{site.port}: {PRIVATE}" in curl(proxy, site.url_for("/redirect/elsewhere"), "-L")[1]


def test_a_tunnel_carries_bytes_both_ways(site: Site, open_door: OpenDoor) -> None:
    proxy = open_door(LOOPBACK_OPEN)
    assert "On Keeping Pages" in curl(proxy, site.url_for("/article"), "--proxytunnel")[1]
    assert (
        "On Keeping Pages" in curl(proxy, site.url_for("/article"), "--proxy", f"socks5h://127.0.0.1:{proxy.port}")[1]
    )


def test_small_parts_go_out_without_waiting_for_the_last_one_s_acknowledgement(site: Site, open_door: OpenDoor) -> None:
    proxy = open_door(LOOPBACK_OPEN)
    _, client = proxy.socks("127.0.0.1", site.port)
    for end in psutil.Process().net_connections("tcp4"):
        if end.status == "ESTABLISHED" and (end.laddr.port == proxy.port or end.raddr[1:] == (site.port,)):
            with socket.socket(fileno=os.dup(end.fd)) as ours:
                assert ours.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY), end
    client.close()


def test_our_own_ports_have_to_be_opened_by_name(site: Site, open_door: OpenDoor) -> None:
    own = frozenset({site.port})
    assert (
        PRIVATE
        in curl(
            open_door(DialRules(NetworkRules(OpenedNetworks.parse(["127.0.0.0/8"]), own))), site.url_for("/article")
        )[1]
    )
    opened = NetworkRules(OpenedNetworks.parse([f"127.0.0.1:{site.port}"]), own)
    assert "On Keeping Pages" in curl(open_door(DialRules(opened)), site.url_for("/article"))[1]


def test_the_proxy_does_not_ask_itself(open_door: OpenDoor) -> None:
    ours: set[int] = set()
    proxy = open_door(DialRules(NetworkRules(OpenedNetworks.parse(["127.0.0.0/8", "localhost"])), ours=ours))
    ours.add(proxy.port)
    assert PRIVATE in curl(proxy, f"http://127.0.0.1:{proxy.port}/")[1]
    assert PRIVATE in curl(proxy, f"http://localhost:{proxy.port}/")[1]


def test_what_cannot_be_reached_says_why(open_door: OpenDoor) -> None:
    def nobody(name: str) -> NoReturn:
        raise socket.gaierror(socket.EAI_NONAME, f"no {name}")

    proxy = open_door(LOOPBACK_OPEN, names=nobody)
    assert proxy.ask("CONNECT nowhere.example:443 HTTP/1.1\r\n\r\n").startswith(
        b"HTTP/1.1 502 There is no site called nowhere.example"
    )
    assert b"127.0.0.1:1 cannot be reached" in proxy.ask("CONNECT 127.0.0.1:1 HTTP/1.1\r\n\r\n")
    assert [line["reason"] for line in proxy.log()] == ["no_such_name", "connection_refused"]


@pytest.mark.parametrize(
    "said",
    [
        "GET / HTTP/1.1\r\n\r\n", "GET ftp://example.org/ HTTP/1.1\r\n\r\n", "CONNECT example.org HTTP/1.1\r\n\r\n",
        "CONNECT example.org:99999 HTTP/1.1\r\n\r\n", "CONNECT a b:80 HTTP/1.1\r\n\r\n", "SSH-2.0-x\r\n\r\n",
        "POST http://example.org/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", "GET " + "x" * 70_000,
    ],
)  # fmt: skip
def test_what_is_no_request_is_told_so(open_door: OpenDoor, said: str) -> None:
    assert open_door().ask(said).startswith(b"HTTP/1.1 400 ArchiveBox's proxy could not understand this")


def test_a_request_is_followed_by_no_second_one(open_door: OpenDoor) -> None:
    """What a client sends after its request would reach the server of the first."""
    with socket.create_server(("127.0.0.1", 0)) as server, open_door(LOOPBACK_OPEN).connect() as client:
        port = server.getsockname()[1]
        first = f"POST http://127.0.0.1:{port}/a HTTP/1.1\r\nHost: a\r\nProxy-Authorization: x\r\nContent-Length: 3\r\n"
        client.sendall(f"{first}\r\nabcGET http://127.0.0.2/ HTTP/1.1\r\n\r\n".encode())
        stream, _ = server.accept()
        with stream:
            stream.settimeout(90)
            head, _, body = _read_until(stream, b"abc").partition(b"\r\n\r\n")
            assert head == b"POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nConnection: close"
            assert body == b"abc"
            stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        assert read_all(client).endswith(b"ok")


def _read_until(stream: socket.socket, end: bytes) -> bytes:
    data = b""
    while not data.endswith(end):
        data += stream.recv(1)
    return data


def test_bytes_are_counted_and_the_log_says_where_they_came_from(site: Site, open_door: OpenDoor) -> None:
    proxy = open_door(LOOPBACK_OPEN)
    curl(proxy, site.url_for("/huge.bin?mb=1"), "-o", "/dev/null")
    totals = proxy.totals()
    assert (totals.connections, totals.failed, totals.refused) == (1, 0, 0)
    assert 1_000_000 <= totals.received < 1_100_000
    assert 0 < totals.sent < 1000
    opened, closed = proxy.log()
    place = {"host": "127.0.0.1", "port": site.port, "connection": 1}
    assert opened == {"time": opened["time"], "event": "connected", **place, "address": "127.0.0.1"}
    assert closed == {**closed, "event": "closed", **place, "received": totals.received, "sent": totals.sent}


def test_a_crawl_receives_no_more_than_it_may(site: Site, open_door: OpenDoor) -> None:
    proxy = open_door(LOOPBACK_OPEN, max_size=200_000)
    code, _ = curl(proxy, site.url_for("/huge.bin?mb=5"), "-o", "/dev/null")
    assert code != 0
    assert "403 The crawl has received 200,000 bytes" in curl(proxy, site.url_for("/article"), "-i")[1]
    assert proxy.full == [True]
    assert proxy.totals().received < 1_000_000


def test_totals_go_on_where_an_earlier_proxy_ended(site: Site, open_door: OpenDoor, tmp_path: Path) -> None:
    folder = tmp_path / "egress0"
    folder.mkdir()
    (folder / "totals.json").write_text('{"received": 1000000, "connections": 7, "unknown": 1}')
    proxy = open_door(LOOPBACK_OPEN)
    curl(proxy, site.url_for("/article"))
    assert proxy.totals().connections == 8
    assert proxy.totals().received > 1_000_000


@pytest.mark.parametrize("scheme", ["http", "socks5"])
def test_everything_goes_on_through_the_person_s_own_proxy(site: Site, open_door: OpenDoor, scheme: str) -> None:
    """It resolves the names; what says itself that it is private is refused before."""
    theirs = open_door(LOOPBACK_OPEN, names=lambda _name: [ip_address("127.0.0.1")])
    ours = open_door(DialRules(upstream=Upstream.parse(f"{scheme}://127.0.0.1:{theirs.port}")))
    url = f"http://far.example:{site.port}/article"
    assert "On Keeping Pages" in curl(ours, url)[1]
    assert "On Keeping Pages" in curl(ours, url, "--proxytunnel")[1]
    assert PRIVATE in curl(ours, site.url_for("/article"))[1]
    assert b"127.0.0.1:80: it is on a private network" in ours.ask("CONNECT 127.1:80 HTTP/1.1\r\n\r\n")
    assert ours.log()[0]["address"] == ""


class Closed(asyncio.Transport):
    """Of a client to whom nothing is said."""

    def is_closing(self) -> bool:
        return True


def test_the_person_s_own_proxy_reads_no_other_host_in_a_url_than_we_did() -> None:
    async def asked() -> ProxyRequest:
        reader = asyncio.StreamReader()
        reader.feed_data(b"GET http://10.0.0.1\\@far.example?a HTTP/1.1\r\n\r\n")
        writer = asyncio.StreamWriter(Closed(), asyncio.Protocol(), None, asyncio.get_running_loop())
        return await read_proxy_request(reader, writer)

    found = asyncio.run(asked())
    assert found.place == Endpoint("far.example", 80)
    assert found.request is not None
    assert found.request.head(absolute=True).startswith(b"GET http://far.example/?a HTTP/1.1\r\n")


def test_a_stalled_client_holds_back_its_server_and_no_memory(open_door: OpenDoor) -> None:
    proxy = open_door(LOOPBACK_OPEN)
    with socket.create_server(("127.0.0.1", 0)) as server:
        reply, client = proxy.socks("127.0.0.1", server.getsockname()[1])
        assert reply == 0
        stream, _ = server.accept()
        with stream, client:
            stream.settimeout(0.5)
            with pytest.raises(TimeoutError):
                stream.sendall(bytes(50_000_000))  # more than the system's own buffers take
            assert proxy.ask("GET / HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 400")


def test_many_connections_at_a_time(site: Site, open_door: OpenDoor) -> None:
    proxy = open_door(LOOPBACK_OPEN)
    waiting = [proxy.connect() for _ in range(200)]
    tunnels = [proxy.socks("127.0.0.1", site.port) for _ in range(100)]
    assert {reply for reply, _ in tunnels} == {0}
    assert "On Keeping Pages" in curl(proxy, site.url_for("/article"))[1]
    for stream in (*waiting, *(stream for _, stream in tunnels)):
        stream.close()
