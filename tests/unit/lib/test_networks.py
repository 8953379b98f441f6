"""Which hosts lead into networks of our own."""

from ipaddress import ip_address

import pytest

from archivebox.lib.networks import NetworkRules, OpenedNetworks, is_private, is_public, subscriber_of
from archivebox.lib.urls import parse_url


@pytest.mark.parametrize(
    "text",
    [
        "0.0.0.0", "10.1.2.3", "100.64.0.1", "127.0.0.1", "127.255.255.254", "169.254.169.254", "172.16.0.1",
        "172.31.255.255", "192.0.0.192", "192.168.1.1", "198.18.0.1", "224.0.0.251", "239.255.255.250", "240.0.0.1",
        "255.255.255.255", "::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "::ffff:0:10.0.0.1",
        "64:ff9b::169.254.169.254", "64:ff9b:1::1", "2002:7f00:1::", "2002:a00:1::1", "2001:0:1::1", "fc00::1",
        "fd00:ec2::254", "fe80::1", "fec0::1", "ff02::1", "100::1", "2001:db8::1",
    ],
)  # fmt: skip
def test_addresses_of_our_own(text: str) -> None:
    assert not is_public(ip_address(text))


@pytest.mark.parametrize(
    "text",
    [
        "1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "128.0.0.1", "172.15.0.1",
        "172.32.0.1", "192.169.0.1", "223.255.255.255", "2606:4700::1", "2a00:1450::1", "::ffff:8.8.8.8",
        "64:ff9b::8.8.8.8", "2002:808:808::1",
    ],
)  # fmt: skip
def test_addresses_of_everybody(text: str) -> None:
    assert is_public(ip_address(text))


@pytest.mark.parametrize(
    "host",
    [
        "localhost", "localhost.", "a.localhost", "2130706433", "0x7f.1", "0177.0.0.1", "127.1", "127.0.0.1.",
        "[::1]", "[::ffff:7f00:1]", "router", "nas.local", "metadata.google.internal", "x.home.arpa",
        "\uff11\uff12\uff17.0.0.1", "\u24dbocalhost",
    ],
)  # fmt: skip
def test_however_a_private_host_is_written(host: str) -> None:
    assert is_private(parse_url(f"http://{host}:8000/x").host)


@pytest.mark.parametrize("host", ["example.com", "localhost.example.com", "10.example", "8.8.8.8", "[2606:4700::1]"])
def test_hosts_of_the_web(host: str) -> None:
    assert not is_private(parse_url(f"http://{host}/").host)


def test_what_is_opened_is_a_host_a_port_or_a_network() -> None:
    opened = OpenedNetworks.parse(["NAS.local", "10.0.0.5:8080", "192.168.0.0/16", "[fd00::1]:80", "::1", " "])
    assert opened.covers("nas.local", 443)
    assert opened.covers("10.0.0.5", 8080)
    assert not opened.covers("10.0.0.5", 80)
    assert opened.covers("192.168.7.7", 1)
    assert opened.covers("[fd00::1]", 80)
    assert not opened.covers("[fd00::1]", 81)
    assert opened.covers("[::1]", 5)
    assert not opened.covers("router", 80)


def test_our_own_ports_are_opened_by_their_name_alone() -> None:
    own = frozenset({8000})
    assert not OpenedNetworks.parse(["127.0.0.0/8"]).covers("127.0.0.1", 8000, own_ports=own)
    assert not OpenedNetworks.parse(["127.0.0.1"]).covers("127.0.0.1", 8000, own_ports=own)
    assert OpenedNetworks.parse(["127.0.0.1:8000"]).covers("127.0.0.1", 8000, own_ports=own)


@pytest.mark.parametrize("entry", ["10.0.0.0/99", "a/b", "host:x", "host:0"])
def test_a_bad_entry_is_named(entry: str) -> None:
    with pytest.raises(ValueError, match="is no"):
        OpenedNetworks.parse([entry])


def test_programs_of_a_crawl_reach_the_web_and_what_was_opened() -> None:
    reach = NetworkRules(OpenedNetworks.parse(["10.0.0.0/8", "nas.local", "127.0.0.0/8"]), own_ports=frozenset({8000}))
    assert reach.admits("example.com", 443, ip_address("93.184.216.34"))
    assert not reach.admits("example.com", 443, ip_address("192.168.0.1"))
    assert reach.admits("intranet.example.com", 80, ip_address("10.1.2.3"))
    assert reach.admits("nas.local", 80, ip_address("192.168.0.9"))
    assert not reach.admits("127.0.0.1", 8000, ip_address("127.0.0.1"))
    assert reach.admits_host("example.com", 443)
    assert not reach.admits_host("router", 80)


def test_visitors_are_told_apart_by_the_network_that_one_subscriber_has() -> None:
    assert subscriber_of("192.0.2.7") == subscriber_of("::ffff:192.0.2.7") == "192.0.2.7"
    assert subscriber_of("2001:db8:1:2::9") == subscriber_of("2001:db8:1:2:ffff::") != subscriber_of("2001:db8:1:3::9")
    assert subscriber_of("unknown") == "unknown"
