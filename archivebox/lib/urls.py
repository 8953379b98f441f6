"""Owns what a URL is: parsed as browsers do (WHATWG), written one way, named as a folder, shown without secrets."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

import ada_url

MAX_LENGTH = 8_000
"""Characters of a URL as it is kept: what RFC 9110 (4.1) asks of everybody, and what most servers take."""

MAX_HOST = 253
"""Characters of a host name (RFC 1035, 2.3.4, without the dot at its end)."""

DEFAULT_PORTS = {"http": 80, "https": 443, "ftp": 21, "ws": 80, "wss": 443}

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_HOST_AND_PORT = re.compile(r"(?:localhost|[\w-]+(?:\.[\w-]+)+):\d{1,5}(?:[/?#]|$)", re.IGNORECASE)
_PLAIN = re.compile(r"(https?|wss?|ftp)://([^/@:\[]+)(?::(\d+))?/")
"""The beginning of an href without user, password or IPv6: all that there is to read in nearly every URL."""
_BARE_HOST = re.compile(r"[^\s/:]+\.[^\s/:]+(/\S*)?")
_CREDENTIALS = re.compile(r"(?<=//)[^/?#\s]*@|(?<![^\s=])(?!mailto:)[^/?#\s:@=]+:[^/?#\s@]+@")
"""User and password before a host, with its scheme or at the beginning of a word."""
_UNSAFE_IN_FOLDER = re.compile(r"[^a-z0-9._-]+")
_MAX_FOLDER = 240
"""A file name may have 255 bytes on every file system we meet; a host name at most 253."""


class BadUrl(ValueError):  # noqa: N818 - the name says it
    """A text that is not a URL we can keep; the message says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Url:
    """One URL: ``href`` is its one way of writing, ``port`` is None where it is the scheme's own."""

    href: str
    scheme: str
    host: str
    port: int | None
    username: str = ""
    password: str = ""

    @property
    def effective_port(self) -> int | None:
        return self.port if self.port is not None else DEFAULT_PORTS.get(self.scheme)

    @property
    def domain_key(self) -> str:
        """The host and port that politeness counts by: ``example.com``, ``example.com:8000``."""
        return self.host if self.port is None else f"{self.host}:{self.port}"

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.domain_key}"

    @property
    def without_fragment(self) -> str:
        return self.href.partition("#")[0]


def parse_url(text: str) -> Url:
    """``text`` as a URL of any scheme; BadUrl says what is wrong.

    Space around it is dropped. Control characters are refused: browsers silently drop tabs and line feeds inside a
    URL, so that what people read and what is fetched would differ.
    """
    text = text.strip(" \t\r\n\f")
    if not text:
        raise BadUrl("it is empty")
    if text.startswith("-"):
        raise BadUrl("it begins with -, as an option does")
    if _CONTROL.search(text):
        raise BadUrl("it holds control characters")
    if len(text) > MAX_LENGTH:
        raise BadUrl(f"it has {len(text):,} characters; {MAX_LENGTH:,} is the most")
    url = _parse(text)
    if len(url.href) > MAX_LENGTH:
        raise BadUrl(f"written out it has {len(url.href):,} characters; {MAX_LENGTH:,} is the most")
    if len(url.host) > MAX_HOST:
        raise BadUrl(f"its host has {len(url.host):,} characters; {MAX_HOST} is the most")
    return url


def _parse(text: str) -> Url:
    if _HOST_AND_PORT.match(text):
        raise BadUrl(_what_is_missing(text))  # by the letter a URL, of the scheme "example.com"
    try:
        parsed = ada_url.URL(text)
    except (ValueError, UnicodeError):
        raise BadUrl(_what_is_missing(text)) from None
    href: str = parsed.href
    plain = _PLAIN.match(href)
    if plain is not None:  # each part that the parser is asked for costs 1.5 µs, which a list of a million URLs feels
        return Url(href, plain[1], plain[2], int(plain[3]) if plain[3] else None)
    return Url(
        href=href,
        scheme=parsed.protocol.removesuffix(":"),
        host=parsed.hostname,
        port=int(parsed.port) if parsed.port else None,
        username=parsed.username,
        password=parsed.password,
    )


def without_credentials(text: str) -> str:
    """``text`` without users and passwords of URLs in it: what is kept or shown of something that was refused."""
    return _CREDENTIALS.sub("", text)


def _what_is_missing(text: str) -> str:
    if _HOST_AND_PORT.match(text) or ("://" not in text and _BARE_HOST.fullmatch(text)):
        return f"it has no scheme (did you mean https://{text} ?)"
    return "a URL looks like https://example.com/page"


def path_domain(url: Url) -> str:
    """The folder name of a URL's host: lower-case punycode, a port as ``_8000``, IPv6 with ``-`` for colons.

    A URL without a host (``file:``, ``data:``) is kept under its scheme. Never empty, ``.``, ``..`` or hidden.
    """
    return _folder_of(url.host, url.port, url.scheme)


def path_domain_of(href: str) -> str:
    """:func:`path_domain` of a URL that is in its one way of writing, without parsing it again where it is plain."""
    plain = _PLAIN.match(href)
    if plain is None:
        return path_domain(parse_url(href))
    return _folder_of(plain[2], int(plain[3]) if plain[3] else None, plain[1])


def _folder_of(url_host: str, port: int | None, scheme: str) -> str:
    host = url_host.strip("[]").replace(":", "-").rstrip(".") or scheme
    if url_host.startswith("[") and host.startswith("-"):
        host = f"0{host}"  # ::1 is 0::1, and a name that begins with - reads as an option
    name = _UNSAFE_IN_FOLDER.sub("-", host.lower())[:_MAX_FOLDER]
    if name.startswith((".", "-")):
        name = f"_{name.lstrip('.-')}"
    return name if port is None else f"{name}_{port}"


HIDDEN = "***"

_NAME = r"--?[\w-]*(?:passw(?:or)?d|passphrase|secret|token|api-?key|credentials?)"
_OPTION = re.compile(rf"({_NAME})(=.*)?", re.IGNORECASE | re.DOTALL)
_HEADER = re.compile(r"((?:proxy-)?authorization|cookie|x-api-key|x-auth-token)(\s*:\s*).+", re.IGNORECASE | re.DOTALL)


def redacted(argv: Iterable[str]) -> list[str]:
    """The words of a command line as people may see them; as many as there were."""
    shown: list[str] = []
    is_value = False
    for word in argv:
        option = _OPTION.fullmatch(word)
        if is_value and option is None:
            shown.append(HIDDEN)
        else:
            shown.append(f"{option[1]}={HIDDEN}" if option and option[2] else _without_secrets(word))
        is_value = option is not None and option[2] is None
    return shown


def _without_secrets(word: str) -> str:
    return _HEADER.sub(rf"\1\2{HIDDEN}", without_credentials(word))
