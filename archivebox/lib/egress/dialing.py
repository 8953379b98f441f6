"""Owns getting from a name to a connection: looked up, checked, and made to exactly the address that was checked."""

import asyncio
import socket
import struct
from base64 import b64encode
from collections.abc import Awaitable, Callable, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from ipaddress import IPv6Address, ip_address
from typing import NamedTuple, Self
from urllib.parse import unquote, urlsplit

from archivebox.lib.egress.proxy_requests import HEAD_MAX, Endpoint, NotConnected, NotConnectedReason
from archivebox.lib.networks import IPAddress, NetworkRules, is_private, is_public, literal

Resolver = Callable[[str], Awaitable[Sequence[IPAddress]]]


async def no_private_places(_place: Endpoint) -> bool:
    """No private place was named for the crawl."""
    return False


async def no_listeners(_address: IPAddress, _port: int) -> bool:
    """No process of the crawl listens anywhere."""
    return False


@dataclass(frozen=True, slots=True)
class DialRules:
    """Where connections of a crawl may lead."""

    reach: NetworkRules = field(default_factory=NetworkRules)
    is_named: Callable[[Endpoint], Awaitable[bool]] = no_private_places
    """Whether the operator gave this private host and port to the crawl; asked for those alone."""
    upstream: "Upstream | None" = None
    ours: AbstractSet[int] = frozenset()
    """Ports on which this proxy itself listens: one that asked itself would never end."""
    is_crawls_own: Callable[[IPAddress, int], Awaitable[bool]] = no_listeners
    """Whether processes of the crawl alone listen at this address of this machine; asked for its hooks alone."""


CONNECT_TIME = 30.0
"""Seconds for look-up and connection together."""
NEXT_AFTER = 0.25
"""Seconds until the next address is tried beside one that does not answer (RFC 8305, 8)."""
ADDRESSES_MAX = 16
"""Addresses of one name that are tried."""
LOOKUPS_MAX = 16
"""Names that one crawl may have looked up at a time, so that silent ones leave threads to the others."""
_MAX_LOOKUPS = 64
"""getaddrinfo(3) blocks a thread each, for 10 s and more where a name server is silent."""

_threads = ThreadPoolExecutor(_MAX_LOOKUPS, "resolver")


class DialedConnection(NamedTuple):
    """A connection that stands. ``address``: where it leads; empty where only the person's own proxy knows."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    address: str

    @property
    def local_address(self) -> str:
        """The address of this machine from which it left; empty once it has broken."""
        own = self.writer.get_extra_info("sockname")
        return str(own[0]).partition("%")[0] if own else ""


@dataclass(frozen=True, slots=True)
class Upstream:
    """The person's own proxy, through which everything goes on."""

    scheme: str
    place: Endpoint
    user: str = ""
    password: str = ""

    @classmethod
    def parse(cls, url: str) -> Self:
        """Of ``http://proxy:3128`` or ``socks5://user:password@proxy:1080``; ValueError says what is wrong."""
        parts = urlsplit(url)
        scheme = parts.scheme.removesuffix("h")  # socks5h: names are looked up there, as we do anyway
        if scheme not in ("http", "socks5") or not parts.hostname:
            raise ValueError("a proxy is written as http://host:port or socks5://host:port")
        place = Endpoint(parts.hostname, parts.port or (1080 if scheme == "socks5" else 3128))
        return cls(scheme, place, unquote(parts.username or ""), unquote(parts.password or ""))

    @property
    def is_http(self) -> bool:
        return self.scheme == "http"

    @property
    def fields(self) -> tuple[bytes, ...]:
        """What says to an HTTP proxy who we are."""
        if not self.user:
            return ()
        return (b"Proxy-Authorization: Basic " + b64encode(f"{self.user}:{self.password}".encode()),)


async def resolve_by_system(name: str) -> Sequence[IPAddress]:
    """The addresses of a name as the system knows them; OSError if it has none. What is below localhost is loopback."""
    if name == "localhost" or name.endswith(".localhost"):  # RFC 6761, 6.3; not every system knows
        return (ip_address("127.0.0.1"), ip_address("::1"))
    if name.endswith(".invalid"):  # RFC 6761, 6.4: nobody is asked
        return ()
    loop = asyncio.get_running_loop()
    found = await loop.run_in_executor(_threads, _resolve, name)
    return tuple(dict.fromkeys(map(ip_address, found)))


def _resolve(name: str) -> list[str]:
    found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    return [str(sockaddr[0]).partition("%")[0] for *_, sockaddr in found]


class Dialer:
    """Makes connections by the rules of a crawl."""

    def __init__(self, rules: DialRules, resolver: Resolver = resolve_by_system) -> None:
        self._rules = rules
        self._resolver = resolver
        self._lookups = asyncio.Semaphore(LOOKUPS_MAX)

    @property
    def upstream(self) -> Upstream | None:
        return self._rules.upstream

    async def tunnel(self, place: Endpoint) -> DialedConnection:
        """A connection to a place; NotConnected if there can be none."""
        try:
            async with asyncio.timeout(CONNECT_TIME):
                if self.upstream is None:
                    return await self._connect_checked(place)
                stream = await self.connect_to_upstream(self.upstream, place)
                await _ask_upstream(stream, self.upstream, place)
                return stream
        except TimeoutError:
            raise NotConnected(
                NotConnectedReason.TIMEOUT, f"{place} did not answer within {CONNECT_TIME:.0f} seconds."
            ) from None

    async def connect_to_own_process(self, place: Endpoint) -> DialedConnection | None:
        """A connection to a process of the crawl that listens on loopback; None where it is none of its own."""
        if place.port in self._rules.ours or not _is_loopback(place.host):
            return None
        for address in map(plain, await self._addresses(place)):
            if address.is_loopback and await self._rules.is_crawls_own(address, place.port):
                return await _reach(place, [address])
        return None

    async def connect_to_upstream(self, upstream: Upstream, place: Endpoint) -> DialedConnection:
        """A connection to the person's own proxy, for a place that may be reached as far as it says so itself."""
        if not self._rules.reach.admits_host(*place) and not await self._rules.is_named(place):
            raise _private(place)
        try:
            stream = await asyncio.open_connection(*upstream.place, limit=HEAD_MAX)
        except OSError as error:
            sentence = f"The proxy that PROXY names, {upstream.place}, cannot be reached: {_text(error)}."
            raise NotConnected(NotConnectedReason.PROXY_FAILED, sentence) from error
        return DialedConnection(*stream, "")

    async def _connect_checked(self, place: Endpoint) -> DialedConnection:
        addresses = [plain(one) for one in await self._addresses(place)]
        allowed = await self._allowed(place, addresses)
        if not allowed:
            raise _private(place, addresses[0])
        return await _reach(place, allowed[:ADDRESSES_MAX])

    async def _allowed(self, place: Endpoint, addresses: Sequence[IPAddress]) -> Sequence[IPAddress]:
        """Those of the addresses that may be connected to. A name of the web opens none by having been given."""
        rules = self._rules
        if place.port in rules.ours:
            addresses = [one for one in addresses if not _is_own(one)]
        admitted = [one for one in addresses if rules.reach.admits(*place, one)]
        if place.port in rules.reach.own_ports and not rules.reach.opens(*place):
            admitted = [one for one in admitted if not is_public(one) or not _is_own(one)]
        if not admitted and is_private(place.host) and await rules.is_named(place):
            return addresses
        return admitted

    async def _addresses(self, place: Endpoint) -> Sequence[IPAddress]:
        address = literal(place.host)
        if address is not None:
            return (address,)
        try:
            async with self._lookups:
                found = await self._resolver(place.host)
        except (OSError, UnicodeError) as error:
            raise NotConnected(
                NotConnectedReason.NO_SUCH_NAME, f"There is no site called {place.host}: {_text(error)}."
            ) from error
        if not found:
            raise NotConnected(NotConnectedReason.NO_SUCH_NAME, f"There is no site called {place.host}.")
        return found


def _is_loopback(host: str) -> bool:
    """Whether a host says itself that it is this machine (RFC 6761, 6.3)."""
    address = literal(host)
    return host.rpartition(".")[2] == "localhost" if address is None else plain(address).is_loopback


def _is_own(address: IPAddress) -> bool:
    """Whether this machine itself has an address: only then can one listen there."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        try:
            probe.bind((str(address), 0))
        except OSError:
            return False
    return True


def plain(address: IPAddress) -> IPAddress:
    """An IPv4 address that is written as IPv6 (``::ffff:127.0.0.1``) as the one that the system connects to."""
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return address if mapped is None else mapped


async def _reach(place: Endpoint, addresses: Sequence[IPAddress]) -> DialedConnection:
    try:
        return await _first_to_answer(addresses, place.port)
    except OSError as error:
        why = (
            NotConnectedReason.CONNECTION_REFUSED
            if isinstance(error, ConnectionRefusedError)
            else NotConnectedReason.UNREACHABLE
        )
        raise NotConnected(why, f"{place} cannot be reached: {_text(error)}.") from error


async def _first_to_answer(addresses: Sequence[IPAddress], port: int) -> DialedConnection:
    """The first connection that stands; OSError of the first address if none does (RFC 8305)."""
    attempts: list[asyncio.Task[DialedConnection]] = []
    waiting: set[asyncio.Task[DialedConnection]] = set()
    try:
        for address in addresses:
            attempts.append(asyncio.create_task(_connect(address, port)))
            waiting.add(attempts[-1])
            is_last = len(attempts) == len(addresses)
            while waiting:
                patience = None if is_last else NEXT_AFTER
                done, waiting = await asyncio.wait(waiting, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    if task.exception() is None:
                        return attempts.pop(attempts.index(task)).result()
                if not is_last:
                    break
        return attempts[0].result()
    finally:
        for task in attempts:
            task.add_done_callback(_close_late)
            task.cancel()


def _close_late(task: "asyncio.Task[DialedConnection]") -> None:
    """One that was too late to be used."""
    if not task.cancelled() and task.exception() is None:
        task.result().writer.close()


async def _connect(address: IPAddress, port: int) -> DialedConnection:
    reader, writer = await asyncio.open_connection(str(address), port, limit=HEAD_MAX)
    return DialedConnection(reader, writer, str(address))


# --- the person's own proxy -------------------------------------------------------------------------------------


async def _ask_upstream(stream: DialedConnection, upstream: Upstream, place: Endpoint) -> None:
    try:
        refusal = await (_by_socks if upstream.scheme == "socks5" else _by_connect)(stream, upstream, place)
    except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        refusal = _text(error)
    if refusal:
        stream.writer.close()
        sentence = f"The proxy that PROXY names, {upstream.place}, does not connect to {place}: {refusal}."
        raise NotConnected(NotConnectedReason.PROXY_FAILED, sentence)


async def _by_connect(stream: DialedConnection, upstream: Upstream, place: Endpoint) -> str:
    """Ask for a tunnel by CONNECT; returns why there is none."""
    lines = (f"CONNECT {place} HTTP/1.1".encode(), f"Host: {place}".encode(), *upstream.fields, b"", b"")
    stream.writer.write(b"\r\n".join(lines))
    answer = (await stream.reader.readuntil(b"\r\n\r\n")).partition(b"\r\n")[0].decode("latin-1")
    status = answer.partition(" ")[2]
    return "" if status.startswith("2") else f"it answered {status[:200]}"


async def _by_socks(stream: DialedConnection, upstream: Upstream, place: Endpoint) -> str:
    """Ask for a tunnel by SOCKS 5 (RFC 1928, RFC 1929); returns why there is none."""
    by_password = bool(upstream.user)
    stream.writer.write(b"\x05\x01\x02" if by_password else b"\x05\x01\x00")
    if (await stream.reader.readexactly(2))[1] not in (0, 2):
        return "it wants us to say who we are in a way that is not known here"
    if by_password:
        stream.writer.write(b"\x01" + b"".join(_counted(one) for one in (upstream.user, upstream.password)))
        if (await stream.reader.readexactly(2))[1] != 0:
            return "it refused the password"
    stream.writer.write(b"\x05\x01\x00\x03" + _counted(place.host) + struct.pack("!H", place.port))
    _, reply, _, kind = await stream.reader.readexactly(4)
    size = {1: 4, 4: 16}.get(kind) or (await stream.reader.readexactly(1))[0]
    await stream.reader.readexactly(size + 2)
    return f"it answered {reply}" if reply else ""


def _counted(text: str) -> bytes:
    data = text.encode()[:255]
    return bytes((len(data),)) + data


def _private(place: Endpoint, address: IPAddress | None = None) -> NotConnected:
    leads = f" ({address})" if address is not None and str(address) != place.host else ""
    sentence = (
        f"ArchiveBox did not connect to {place}: it is on a private network{leads}, which is not allowed. "
        "Add the host to PRIVATE_NETWORK_ALLOWLIST to allow it."
    )
    return NotConnected(NotConnectedReason.PRIVATE_ADDRESS, sentence)


def _text(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
