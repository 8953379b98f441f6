"""Owns what a proxy says of its visitors: believed of those that TRUSTED_PROXIES lists, and of nobody else."""

from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_network

from archivebox.lib.networks import literal
from archivebox.web.server.request_gate import Application, Receive, Scope, Send

_FOR, _PROTO = b"x-forwarded-for", b"x-forwarded-proto"
Header = tuple[bytes, bytes]


class TrustedProxies:
    """The addresses that TRUSTED_PROXIES lists."""

    def __init__(self, trusted: Iterable[str]) -> None:
        self._networks: list[IPv4Network | IPv6Network] = [ip_network(text, strict=False) for text in trusted]

    def has(self, host: str) -> bool:
        address = literal(host)
        if isinstance(address, IPv6Address) and address.ipv4_mapped:
            address = address.ipv4_mapped  # as a listener for both sees it
        return address is not None and any(address in network for network in self._networks)


class Proxies:
    """The app, told of each request who sent it to the first of our proxies, by which scheme, and at which address.

    ``user_header`` names who has logged in at the proxy: it reaches the app from there alone. Headers with an
    underscore reach it from nobody: Django takes ``Remote_User`` for ``Remote-User``, which a proxy did not replace.
    """

    def __init__(self, app: Application, trusted: Iterable[str], user_header: str = "", below: str = "") -> None:
        self._app = app
        self._below = below
        self._is_ours = TrustedProxies(trusted).has
        self._user_header = user_header.lower().encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            peer = (scope.get("client") or ("", 0))[0]
            scope = {**scope, "headers": [header for header in scope["headers"] if b"_" not in header[0]]}
            scope.update(self._with_forwarded(scope) if self._is_ours(peer) else self._without(scope))
            scope["path"] = self._whole(scope["path"])
        await self._app(scope, receive, send)

    def _whole(self, path: str) -> str:
        """With the path below which we are, which some proxies take away, and who is on this machine leaves out."""
        if path == self._below:
            return f"{path}/"
        return path if path.startswith(f"{self._below}/") else self._below + path

    def _with_forwarded(self, scope: Scope) -> Scope:
        told: Scope = {}
        if forwarded := _values(scope["headers"], _FOR):
            told["client"] = (self._visitor(forwarded), 0)
        schemes = _values(scope["headers"], _PROTO)
        if schemes and schemes[-1] in {"http", "https"}:
            told["scheme"] = schemes[-1]
        return told

    def _visitor(self, forwarded: list[str]) -> str:
        """The last that is none of our proxies: what stands before it anybody can have written."""
        return next((address for address in reversed(forwarded) if not self._is_ours(address)), forwarded[0])

    def _without(self, scope: Scope) -> Scope:
        """A request from somewhere else, without what only our proxies may say."""
        kept = [header for header in scope["headers"] if header[0] not in {_FOR, self._user_header}]
        return {"headers": kept}


def _values(headers: Iterable[Header], wanted: bytes) -> list[str]:
    """All values of a header, which may stand several times and have commas."""
    lines = (value.decode("latin-1") for name, value in headers if name == wanted)
    return [part for line in lines for text in line.split(",") if (part := text.strip())]
