"""Reads and checks what a request gives, before anything is written: which URLs are valid, and which are known."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import BinaryIO, Self
from uuid import UUID

from archivebox.base_models.rows import time_of
from archivebox.base_models.visibility import ViewerScope, seen_by
from archivebox.config.resolve import Resolved
from archivebox.contract.reasons import Reason
from archivebox.core.intake.add_urls import check_seeds
from archivebox.core.intake.persona_access import personas_of
from archivebox.core.intake.request import (
    SENTENCES_SHOWN,
    CrawlRequest,
    NotForVisitorsError,
    Refusal,
    Requester,
    RequestRefusedError,
    Seed,
    UrlList,
)
from archivebox.core.snapshot import Snapshot
from archivebox.hooks import crawl_layers, known_settings, plugins, resolve_settings
from archivebox.lib.batches import batches
from archivebox.lib.html_probe import ParserLimitError, check
from archivebox.lib.links.formats import ListFormat, read_links, resolve
from archivebox.lib.links.link import Link, LinkFileError
from archivebox.lib.links.text import whole_text
from archivebox.lib.suggestions import did_you_mean

BATCH = 500
"""URLs of one query, and of one check."""
Report = Callable[[Refusal, str], object]
"""Called for each refused URL or line, with the name of its list (empty for URLs that were given alone)."""


@dataclass(frozen=True, slots=True)
class ArchivedURL:
    """A URL that is archived already: its latest version, and how many there are."""

    seed: Seed
    latest: UUID
    versions: int

    @property
    def at(self) -> datetime:
        return time_of(self.latest)


@dataclass(slots=True)
class ParsedInput:
    """What was given, sorted; each URL once."""

    seeds: dict[str, Seed] = field(default_factory=dict)
    known: list[ArchivedURL] = field(default_factory=list)
    """Those that are archived already; empty before :func:`find_versions`."""
    refusals: list[Refusal] = field(default_factory=list)
    """Of lists; empty where each was reported instead."""
    refused: int = 0
    repeated: int = 0
    """Entries whose URL had been given before."""

    @classmethod
    def of_seeds(cls, seeds: Iterable[Seed]) -> Self:
        """URLs that were read and checked before."""
        return cls({seed.url: seed for seed in seeds})

    @property
    def fresh(self) -> list[Seed]:
        known = {one.seed.url for one in self.known}
        return [seed for url, seed in self.seeds.items() if url not in known]

    def chosen(self, request: CrawlRequest) -> list[Seed]:
        """The URLs that are captured now."""
        again = [one.seed for one in self.known if request.duplicates.captures(one.at, request.days)]
        return self.fresh + again


def parse(
    request: CrawlRequest, requester: Requester, settings: Resolved | None = None, report: Report | None = None
) -> ParsedInput:
    """Read and check all of a request; RequestRefusedError, SettingError. Nothing is written.

    Names of hosts are looked up for who may not name private ones: call it outside of any transaction. ``settings``:
    those of its crawl, where they are known. ``report`` gets the refused lines, which are kept where there is none.
    """
    _check_choices(request, requester)
    settings = settings or resolve_settings(crawl_layers(request.settings))
    for name in request.settings:
        settings.get(name)
    parser = _RequestReader(requester, settings, report)
    parser.read_urls(request.urls, alone=not request.lists)
    for given in request.lists:
        parser.read_list(given, request.list_format)
    seeds = parser.parsed.seeds
    parser.parsed.repeated -= len(seeds)
    if request.title and len(seeds) == 1:
        parser.parsed.seeds = {url: replace(seed, title=request.title) for url, seed in seeds.items()}
    return parser.parsed


def parse_strictly(request: CrawlRequest, requester: Requester) -> list[Seed]:
    """The URLs of a request all of whose lines must be valid, and of which there must be one. RequestRefusedError."""
    parsed = parse(request, requester)
    _refuse_if_any(parsed.refusals)
    require_urls(parsed)
    return list(parsed.seeds.values())


def require_urls(parsed: ParsedInput) -> None:
    """RequestRefusedError where there is no valid URL."""
    if not parsed.seeds:
        what = (
            f"Nothing in {parsed.refused} line{'' if parsed.refused == 1 else 's'}"
            if parsed.refused
            else "Nothing given"
        )
        raise RequestRefusedError(f"{what} is a URL that can be archived. Give URLs such as https://example.com/.")


def find_versions(parsed: ParsedInput, scope: ViewerScope) -> None:
    """Look up which URLs are archived already; what is not seen is not known."""
    versions: dict[str, list[UUID]] = {}
    for batch in batches(parsed.seeds, BATCH):
        rows = seen_by(scope, Snapshot.objects.in_library()).filter(url__in=batch).order_by("pk")
        for url, key in rows.values_list("url", "pk"):
            versions.setdefault(url, []).append(key)
    parsed.known = [ArchivedURL(parsed.seeds[url], keys[-1], len(keys)) for url, keys in versions.items()]


def _check_choices(request: CrawlRequest, requester: Requester) -> None:
    """What was chosen beside URLs. Visitors choose a depth, and nothing else."""
    if requester.is_visitor:
        for name in sorted(request.choices()):
            raise NotForVisitorsError(
                f"This is for accounts that may add: leave `{name}` out. Everyone may choose URLs and `depth`."
            )
    if not 0 <= request.depth <= requester.max_depth:
        unless = ", unless your account may add" if requester.is_visitor else ""
        refused = NotForVisitorsError if requester.is_visitor else RequestRefusedError
        raise refused(f"Links are followed {requester.max_depth} deep at most{unless}.", field="depth")
    for name in request.plugins:
        if name not in plugins():
            hint = did_you_mean(name, plugins(), "`archivebox plugin list` shows all plugins.")
            raise RequestRefusedError(f"There is no plugin {name!r}. {hint}", field="plugins")
    refuse_settings_of_others(request.config)
    if request.persona and request.persona not in personas_of(requester.user):
        raise RequestRefusedError(f"There is no persona {request.persona!r} that is shared with you.", field="persona")


def refuse_settings_of_others(config: Iterable[str]) -> None:
    """RequestRefusedError for the first setting that has no effect on one crawl."""
    known = known_settings()
    for name in config:
        if name in known and (sentence := known[name].refusal_for_crawl):
            raise RequestRefusedError(sentence, field="config")


def _refuse_if_any(refusals: Sequence[Refusal]) -> None:
    """Nothing is done where one of what must all be valid is not."""
    if refusals:
        sentences = " ".join(one.sentence for one in refusals[:SENTENCES_SHOWN])
        raise RequestRefusedError(f"{sentences} Nothing was added.", refusals)


class _RequestReader:
    """Reads URLs and lists for one requester, up to as many as they may add."""

    def __init__(self, requester: Requester, settings: Resolved, report: Report | None) -> None:
        self.parsed = ParsedInput()
        self._requester = requester
        self._settings = settings
        self._report = report

    def read_urls(self, urls: Sequence[str | Seed], *, alone: bool) -> None:
        """Where refusals are reported, a bad one refuses itself; ``alone``: there is nothing else to add."""
        seeds, refusals = self._check(urls)
        if self._report is None or (alone and not seeds):
            _refuse_if_any(refusals)
        self._note(refusals)
        self._add_seeds(seeds, len(urls) - len(refusals))

    def read_list(self, given: UrlList, kind: ListFormat) -> None:
        """RequestRefusedError for what cannot be read as a list of that kind."""
        try:
            for batch in batches(read_given(given.file, kind), BATCH):
                self._read_batch(batch, given.name)
        except LinkFileError as error:
            raise RequestRefusedError(f"{given.name} {error}.") from None
        except OSError as error:
            raise RequestRefusedError(f"{given.name} cannot be read: {error.strerror}.") from None

    def _read_batch(self, links: list[Link], name: str) -> None:
        """Refused lines keep the numbers that they have in the list."""
        urls = [link for link in links if not link.problem]
        seeds, refused = self._check(map(Seed.of_link, urls))
        refusals = [replace(one, line=urls[one.line - 1].line) for one in refused]
        refusals += [_unreadable(link) for link in links if link.problem]
        self._note(sorted(refusals, key=lambda one: one.line), name)
        self._add_seeds(seeds, len(links) - len(refusals))

    def _note(self, refusals: Sequence[Refusal], name: str = "") -> None:
        for one in refusals:
            if self._report is None:
                self.parsed.refusals.append(one)
            else:
                self._report(one, name)
        self.parsed.refused += len(refusals)

    def _check(self, given: Iterable[str | Seed]) -> tuple[list[Seed], list[Refusal]]:
        return check_seeds(given, self._settings, may_name_private=self._requester.may_name_private)

    def _add_seeds(self, seeds: list[Seed], count: int) -> None:
        for seed in seeds:
            self.parsed.seeds.setdefault(seed.url, Seed(seed.url) if self._requester.is_visitor else seed)
        self.parsed.repeated += count
        if len(self.parsed.seeds) > self._requester.max_urls:
            most = f"{self._requester.max_urls:,}"
            raise RequestRefusedError(f"That is more than {most} URLs: split the list, and add the parts one by one.")


def _unreadable(link: Link) -> Refusal:
    return Refusal(link.line, link.url[:200], Reason.BAD_URL.value, f"There is no URL in it: {link.problem}.")


def read_given(file: BinaryIO, kind: ListFormat = ListFormat.AUTO) -> Iterator[Link]:
    """The entries of a seekable file in order.

    LinkFileError for what cannot be read that way, and for HTML whose reading would hold up everybody else.
    """
    kind = resolve(file, kind)
    if kind is ListFormat.HTML:
        try:
            check(whole_text(file))
        except ParserLimitError as error:
            raise LinkFileError(f"cannot be read: {error}") from None
        file.seek(0)
    return read_links(file, kind)
