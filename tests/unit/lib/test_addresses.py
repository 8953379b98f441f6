import socket

import pytest

from archivebox.lib.addresses import ListenAddress


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("127.0.0.1:8000", "127.0.0.1", 8000),
        ("[::1]:80", "::1", 80),
        (":9", "127.0.0.1", 9),
        ("8000", "127.0.0.1", 8000),
    ],
)
def test_addresses(text: str, host: str, port: int) -> None:
    assert ListenAddress.parse(text) == (host, port)


@pytest.mark.parametrize("text", ["", "localhost", "a:b", "x:0", "x:65536", "x:-1", "x:\u0661"])
def test_what_is_none(text: str) -> None:
    with pytest.raises(ValueError, match="not an address"):
        ListenAddress.parse(text)


def test_urls_for_people() -> None:
    assert ListenAddress.parse("0.0.0.0:8000").url == "http://127.0.0.1:8000"
    assert ListenAddress.parse("[::1]:8000").url == "http://[::1]:8000"
    assert str(ListenAddress.parse("[::1]:8000").next_port) == "[::1]:8001"


def test_a_taken_port_is_a_problem_with_a_reason() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = ListenAddress("127.0.0.1", taken.getsockname()[1])
        assert address.problem() == "Address already in use"
    assert address.problem() == ""
    assert ListenAddress("203.0.113.1", 8000).problem()
