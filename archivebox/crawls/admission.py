"""Owns one question: does this URL belong into this crawl? Pure: reads no row and no network."""

from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass
from enum import StrEnum

from archivebox.contract.reasons import Reason, action
from archivebox.lib.networks import OpenedNetworks, is_private
from archivebox.lib.patterns import Pattern
from archivebox.lib.urls import BadUrl, Url, parse_url, without_credentials

SCHEMES = frozenset({"http", "https"})
"""What is archived unless a setting allows more."""

NOTHING_OPENED = OpenedNetworks()


class CrawlScope(StrEnum):
    """How far a crawl may go from the URLs it was given."""

    PAGE = "page"
    HOST = "host"
    DOMAIN = "domain"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Admission:
    """The answer; ``code`` is None when admitted, ``url`` None when the text is not a URL at all."""

    admitted: bool
    code: Reason | None
    sentence: str
    url: Url | None = None

    @property
    def action(self) -> str:
        """What a person can do about a refusal; empty where nothing is to be done."""
        return "" if self.code is None else action(self.code.value)


@dataclass(frozen=True, slots=True)
class Rules:
    """What a crawl takes in. None means no limit; ``seeds`` are the URLs it was given."""

    seeds: tuple[Url, ...] = ()
    scope: CrawlScope = CrawlScope.ALL
    allow: tuple[Pattern, ...] = ()
    deny: tuple[Pattern, ...] = ()
    max_depth: int | None = 0
    max_urls: int | None = None
    schemes: frozenset[str] = SCHEMES
    opened: OpenedNetworks = NOTHING_OPENED
    own_ports: Container[int] = frozenset()
    is_named: Callable[[Url], bool] = lambda _url: False
    """Whether somebody who may do so gave this host and port to the crawl; asked for private ones alone."""


def check_url(text: str, schemes: Iterable[str] = SCHEMES) -> Admission:
    """Whether ``text`` is a URL that may be archived at all, whatever the crawl."""
    try:
        url = parse_url(text)
    except BadUrl as error:
        return Admission(
            admitted=False, code=Reason.BAD_URL, sentence=f'"{shown(text)}" is not a web address: {error}.'
        )
    if url.scheme not in schemes:
        return _refuse(url, Reason.SCHEME_REFUSED, f"{url.scheme} URLs are not archived")
    if url.username or url.password:
        return _refuse(url, Reason.BAD_URL, "it carries a user name or password, which would be stored and shown")
    if not url.host and url.scheme in SCHEMES:
        return _refuse(url, Reason.BAD_URL, "it names no host")
    return Admission(admitted=True, code=None, sentence="", url=url)


def admit(text: str, rules: Rules, *, depth: int = 0, url_count: int = 0) -> Admission:
    """Whether a URL found ``depth`` links away belongs into a crawl that has ``url_count`` URLs already.

    What a person gave (depth 0) is in scope by definition; lists and limits hold for it too.
    """
    answer = check_url(text, rules.schemes)
    if not answer.admitted or answer.url is None:
        return answer
    for check in _CHECKS:
        refusal = check(answer.url, rules, depth, url_count)
        if refusal is not None:
            return refusal
    return answer


def _check_depth(url: Url, rules: Rules, depth: int, _count: int) -> Admission | None:
    if rules.max_depth is None or depth <= rules.max_depth:
        return None
    return _refuse(url, Reason.TOO_DEEP, f"it is {depth} links away and the crawl follows {rules.max_depth}")


def _check_network(url: Url, rules: Rules, _depth: int, _count: int) -> Admission | None:
    if not is_private(url.host) or rules.is_named(url):
        return None
    return refuse_private(url, rules.opened, rules.own_ports)


def _check_scope(url: Url, rules: Rules, depth: int, _count: int) -> Admission | None:
    if depth == 0 or any(_IN_SCOPE[rules.scope](url, seed) for seed in rules.seeds):
        return None
    if rules.scope is CrawlScope.ALL:
        return None
    return _refuse(url, Reason.OUT_OF_SCOPE, f"the crawl covers only the {rules.scope.value} it was given")


def _check_deny(url: Url, rules: Rules, _depth: int, _count: int) -> Admission | None:
    hit = next((pattern for pattern in rules.deny if pattern.search(url.href)), None)
    return None if hit is None else _refuse(url, Reason.DENIED, f"it matches {hit.pattern!r}, which is refused")


def _check_allow(url: Url, rules: Rules, _depth: int, _count: int) -> Admission | None:
    if not rules.allow or any(pattern.search(url.href) for pattern in rules.allow):
        return None
    return _refuse(url, Reason.NOT_ALLOWED, "nothing in the list of allowed URLs matches it")


def _check_count(url: Url, rules: Rules, _depth: int, count: int) -> Admission | None:
    if rules.max_urls is None or count < rules.max_urls:
        return None
    return _refuse(
        url, Reason.LIMIT_REACHED, f"the crawl has reached its limit of {rules.max_urls:,} URLs that it may have"
    )


_CHECKS = (_check_depth, _check_network, _check_deny, _check_scope, _check_allow, _check_count)


def _same_page(url: Url, seed: Url) -> bool:
    return url.without_fragment == seed.without_fragment


def _same_host(url: Url, seed: Url) -> bool:
    return url.domain_key == seed.domain_key


def _same_domain(url: Url, seed: Url) -> bool:
    """The seed's host, ``www.`` aside, and everything below it, on any port.

    No list of public suffixes is consulted: a seed of ``github.io`` itself covers all of it, as it says.
    """
    domain = seed.host.removeprefix("www.")
    return url.host == domain or url.host.endswith(f".{domain}")


_IN_SCOPE: dict[CrawlScope, Callable[[Url, Url], bool]] = {
    CrawlScope.PAGE: _same_page,
    CrawlScope.HOST: _same_host,
    CrawlScope.DOMAIN: _same_domain,
    CrawlScope.ALL: lambda _url, _seed: True,
}


def _refuse(url: Url, code: Reason, why: str) -> Admission:
    return Admission(admitted=False, code=code, sentence=f"{shown(url.href)} was not added: {why}.", url=url)


def refuse_private(url: Url, opened: OpenedNetworks, own_ports: Container[int]) -> Admission | None:
    """The refusal of a URL whose host is on a private network; None where PRIVATE_NETWORK_ALLOWLIST opens it."""
    if opened.covers(url.host, url.effective_port, own_ports=own_ports):
        return None
    return _refuse(url, Reason.PRIVATE_ADDRESS, "its host is on a private network, which is not allowed")


def shown(text: str) -> str:
    """A text of unknown origin as a sentence may hold it: printable, at most 100 characters, no password."""
    text = without_credentials(text)
    printable = "".join(char if char.isprintable() else "\ufffd" for char in text[:200]).strip()
    return (printable[:99] + "…" if len(printable) > 100 else printable) or "An empty line"
