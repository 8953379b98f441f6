"""Owns which hosts are of the public internet, and which lead into somebody's own network. Pure: resolves nothing.

IANA's registries of special-purpose addresses (RFC 6890 and its successors) and names (RFC 6761, 6762, 8375).
"""

from collections.abc import Container, Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Self

IPAddress = IPv4Address | IPv6Address

_NOT_PUBLIC = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",  # this host
        "10.0.0.0/8",
        "100.64.0.0/10",  # carrier-grade NAT
        "127.0.0.0/8",
        "169.254.0.0/16",  # link-local: the metadata of clouds
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",  # documentation, as the next two of its kind
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
    )
)
_PUBLIC_6 = IPv6Network("2000::/3")
"""All that is given out; unique local, link-local, multicast and the rest lie outside."""
_NOT_PUBLIC_6 = tuple(IPv6Network(text) for text in ("2001::/23", "2001:db8::/32", "3fff::/20"))
_CARRIERS = tuple(IPv6Network(text) for text in ("::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96"))
"""IPv4 in the last 32 bits: compatible, mapped, translated, NAT64."""
_PRIVATE_ZONES = ("localhost", "local", "internal", "home.arpa")
"""Names below these never lead to the public internet."""


def is_public(address: IPAddress) -> bool:
    """Whether anybody on the internet reaches ``address``; an IPv4 address inside an IPv6 one decides."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _NOT_PUBLIC)
    inside = _carried(address)
    if inside is not None:
        return is_public(inside)
    return address in _PUBLIC_6 and not any(address in network for network in _NOT_PUBLIC_6)


def _carried(address: IPv6Address) -> IPv4Address | None:
    if any(address in network for network in _CARRIERS):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.sixtofour or (address.teredo[1] if address.teredo else None)


def literal(host: str) -> IPAddress | None:
    """The address that a URL's host is; None for a name."""
    try:
        return ip_address(host.strip("[]"))
    except ValueError:
        return None


def subscriber_of(address: str) -> str:
    """The part of a visitor's address by which visitors are told apart: of IPv6 the /64, all of which is one's own.

    A text that is no address stands for itself.
    """
    found = literal(address)
    if not isinstance(found, IPv6Address):
        return address
    inside = found.ipv4_mapped  # as a listener for both sees IPv4
    return str(inside) if inside else str(IPv6Network((found, 64), strict=False))


def is_private(host: str) -> bool:
    """Whether the host of a URL leads into a network of our own, as far as it says so itself.

    A name of one label (``router``, a service of a container network) is looked up in the local network alone.
    """
    address = literal(host)
    if address is not None:
        return not is_public(address)
    name = host.lower().rstrip(".")
    return bool(name) and ("." not in name or name.endswith(tuple(f".{zone}" for zone in _PRIVATE_ZONES)))


@dataclass(frozen=True, slots=True)
class OpenedNetworks:
    """Private hosts that may be reached: PRIVATE_NETWORK_ALLOWLIST."""

    places: frozenset[tuple[str, int | None]] = frozenset()
    """Hosts, with a port or with all."""
    networks: tuple[IPv4Network | IPv6Network, ...] = ()

    @classmethod
    def parse(cls, entries: Iterable[str]) -> Self:
        """Of ``nas.local``, ``10.0.0.5:8080``, ``[fd00::1]:80``, ``192.168.0.0/16``; ValueError names a bad entry."""
        places, networks = set(), []
        for entry in (entry.strip().lower() for entry in entries):
            if "/" in entry:
                networks.append(_network(entry))
            elif entry:
                places.add(_place(entry))
        return cls(frozenset(places), tuple(networks))

    def covers(self, host: str, port: int | None, *, own_ports: Container[int] = frozenset()) -> bool:
        """Whether this host may be reached at this port; ``own_ports`` (of our server) have to be named themselves."""
        name = host.strip("[]").rstrip(".")
        if (name, port) in self.places:
            return True
        if port in own_ports:
            return False
        address = literal(host)
        return (name, None) in self.places or (address is not None and any(address in net for net in self.networks))


NOTHING_OPENED = OpenedNetworks()


@dataclass(frozen=True, slots=True)
class NetworkRules:
    """Where the programs of a crawl may connect to by settings: the public internet, and what was opened besides."""

    opened: OpenedNetworks = NOTHING_OPENED
    own_ports: Container[int] = frozenset()
    """Ports of our own server and database, which have to be named themselves."""

    def admits(self, host: str, port: int, address: IPAddress) -> bool:
        """Whether ``host`` may be connected to at ``address``, which it leads to or is."""
        return is_public(address) or self.opens(host, port) or self.opens(str(address), port)

    def admits_host(self, host: str, port: int) -> bool:
        """The same, of a host whose address only another knows."""
        return not is_private(host) or self.opens(host, port)

    def opens(self, host: str, port: int | None) -> bool:
        """Whether a private host was opened by name."""
        return self.opened.covers(host, port, own_ports=self.own_ports)


def _network(entry: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(entry, strict=False)
    except ValueError:
        raise ValueError(f"{entry!r} is not a network: write one as 192.168.0.0/16") from None


def _place(entry: str) -> tuple[str, int | None]:
    if literal(entry) is not None:
        return entry.strip("[]"), None
    host, colon, port = entry.rpartition(":")
    if not colon:
        return entry, None
    if not port.isascii() or not port.isdigit() or not 0 < int(port) < 65_536:
        raise ValueError(f"{entry!r} is not a host: write one as nas.local, 10.0.0.5:8080 or 192.168.0.0/16")
    return host.strip("[]"), int(port)
