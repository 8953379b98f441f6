"""Owns what one asks for who wants URLs archived: every entrance builds a CrawlRequest, and says who asks."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from enum import StrEnum
from typing import BinaryIO, NamedTuple, Self, cast

from django.conf import settings
from django.contrib.auth.models import User
from django.utils import timezone

from archivebox.base_models.users import SYSTEM
from archivebox.base_models.visibility import EVERYTHING, ViewerScope
from archivebox.config.core import CORE_SETTINGS
from archivebox.crawls.schedule import Template
from archivebox.lib.jsonl import JSON
from archivebox.lib.links.dates import moment_of
from archivebox.lib.links.formats import ListFormat
from archivebox.lib.links.link import Link

MAX_URLS = 1_000_000
"""URLs of one request at the command line: all are in memory at once (300 MB)."""
MAX_URLS_OF_IMPORT = 200_000
"""URLs of one import: reading so many takes about ten seconds; workers write them later."""
MAX_URLS_AT_ONCE = 10_000
"""URLs of a request that is answered when all of them are written: about four seconds."""
MAX_DEPTH = 100
SENTENCES_SHOWN = 10
"""Refused URLs that the message of an error names."""


class RequestRefusedError(ValueError):
    """Nothing was done, as the request cannot be carried out; the message says what to change.

    ``field``: of the request; ``refusals``: the URLs or lines at fault, where it is these.
    """

    def __init__(self, sentence: str, refusals: "Sequence[Refusal]" = (), field: str = "urls") -> None:
        super().__init__(sentence)
        self.refusals = refusals
        self.field = field


class NotForVisitorsError(RequestRefusedError):
    """What was asked for is for accounts that may add."""


class TooManyUrlsError(RequestRefusedError):
    """More URLs than this address may add now; ``wait``: seconds until it may."""

    def __init__(self, sentence: str, wait: int) -> None:
        super().__init__(sentence)
        self.wait = wait


@dataclass(frozen=True, slots=True)
class Seed:
    """One URL that somebody gave, in its one way of writing."""

    url: str
    title: str = ""
    tags: tuple[str, ...] = ()
    visibility: str = ""
    """Where it is not that of the crawl."""
    config: Mapping[str, JSON] = field(default_factory=dict, hash=False)
    """Settings of this page alone."""
    bookmarked_at: datetime | None = None
    """What the list that named it gives as its date."""

    @classmethod
    def of_link(cls, link: Link) -> Self:
        return cls(link.url, link.title, link.tags, bookmarked_at=moment_of(link.date))


@dataclass(frozen=True, slots=True)
class Refusal:
    """A URL or line that was refused, and why."""

    line: int
    """Its number in the list, or among the URLs, from 1."""
    text: str
    code: str
    sentence: str


class UrlList(NamedTuple):
    """A list of any format to be read, seekable, and what messages call it."""

    file: BinaryIO
    name: str = "What was given"


class DuplicatePolicy(StrEnum):
    """What happens with a URL that is archived already."""

    CAPTURE = "always"
    IF_OLDER = "older"
    """Capture it where its latest version is older than so many days."""
    IF_CHANGED = "changed"
    """Capture it, and keep the new version only if it differs."""
    SKIP = "never"
    UPDATE = "update"
    """Run what is missing in its latest version."""
    REPLACE = "replace"
    """Capture it, and retire its earlier versions once the new one is archived."""

    @property
    def needs_versions(self) -> bool:
        return self in {self.IF_OLDER, self.SKIP, self.UPDATE, self.REPLACE}

    def captures(self, archived_at: datetime | None, days: int) -> bool:
        """Whether a URL is captured whose latest version is of this moment; None: it has none."""
        if archived_at is None or self is self.REPLACE or not self.needs_versions:
            return True
        return self is self.IF_OLDER and archived_at < timezone.now() - timedelta(days=days)


@dataclass(frozen=True, kw_only=True, slots=True)
class CrawlRequest:
    """What to archive, and how."""

    urls: Sequence[str | Seed] = ()
    """All of them must be valid, unless refusals are reported one by one."""
    lists: Sequence[UrlList] = ()
    """Their valid entries are taken, the others are reported."""
    list_format: ListFormat = ListFormat.AUTO
    depth: int = 0
    scope: str = field(default="", metadata={"setting": "URL_SCOPE"})
    url_allowlist: str = field(default="", metadata={"setting": "URL_ALLOWLIST"})
    url_denylist: str = field(default="", metadata={"setting": "URL_DENYLIST"})
    max_urls: int | None = field(default=None, metadata={"setting": "MAX_URLS"})
    max_size: int | None = field(default=None, metadata={"setting": "MAX_SIZE"})
    plugins: Sequence[str] = field(default=(), metadata={"setting": "PLUGINS"})
    config: Mapping[str, JSON] = field(default_factory=dict)
    """Other settings of the crawl."""
    persona: str = ""
    visibility: str = ""
    """Empty: as VISIBILITY says."""
    tags: Sequence[str] = ()
    label: str = ""
    title: str = ""
    """Of the page, where one URL is given."""
    duplicates: DuplicatePolicy = DuplicatePolicy.CAPTURE
    days: int = 0
    """For ``IF_OLDER``."""
    hold: bool = False
    """Write it, and run nothing until it is resumed."""

    @property
    def settings(self) -> dict[str, JSON]:
        """The settings of its crawl."""
        chosen = {one.metadata["setting"]: getattr(self, one.name) for one in fields(self) if one.metadata}
        own = {name: list(value) if name == "PLUGINS" else value for name, value in chosen.items() if value}
        is_changed = {"KEEP_UNCHANGED": False} if self.duplicates is DuplicatePolicy.IF_CHANGED else {}
        return {**self.config, **own, **is_changed}

    def choices(self) -> Iterator[str]:
        """The names of the fields that somebody chose, but for URLs, lists and depth."""
        for one in fields(self):
            value = getattr(self, one.name)
            if value and value != getattr(_DEFAULT, one.name) and one.name not in {"urls", "lists", "depth"}:
                yield one.name
        if any(isinstance(one, Seed) and one != Seed(one.url) for one in self.urls):
            yield "title"

    def template(self, urls: Iterable[str] = ()) -> Template:
        """The same as JSON, for rows that crawls are made from later."""
        return Template(
            urls=list(urls), max_depth=self.depth, tags=list(self.tags), persona=self.persona, config=self.settings
        )

    @classmethod
    def of_template(cls, template: Template, *, label: str, visibility: str) -> Self:
        """The request that such a row stands for."""
        return cls(
            depth=template["max_depth"], tags=template["tags"], persona=template["persona"], config=template["config"],
            label=label, visibility=visibility,
        )  # fmt: skip


_DEFAULT = CrawlRequest()


@dataclass(frozen=True, slots=True)
class Requester:
    """Who asks, and how much they may ask for."""

    user: User | None = None
    """In whose name it is archived; None: the system's."""
    viewer_scope: ViewerScope = EVERYTHING
    """Versions that they do not see do not count as archived."""
    may_name_private: bool = False
    """Whether they may name hosts of private networks."""
    max_urls: int = MAX_URLS
    max_depth: int = MAX_DEPTH
    is_visitor: bool = False
    """Whether they may add only because PUBLIC_ADD_VIEW lets everybody: a few URLs an hour, and a depth."""
    address: str = ""

    @classmethod
    def in_name_of(cls, user: User) -> Self:
        """Somebody who asked for it before; administrators and the command line may name private places."""
        return cls(user, may_name_private=user.is_superuser or user.get_username() == SYSTEM)

    @classmethod
    def visitor(cls, user: User | None, viewer_scope: ViewerScope, address: str) -> Self:
        """Somebody without an account that may add."""
        depth = visitor_setting("PUBLIC_ADD_DEPTH")
        return cls(user, viewer_scope, False, MAX_URLS_AT_ONCE, depth, True, address)


OPERATOR = Requester(may_name_private=True)
"""Who types commands."""
ASSISTANT = Requester(max_urls=100, max_depth=3)
"""It reads what strangers wrote, and may be talked into a request."""


def visitor_setting(name: str) -> int:
    """As it was when the server started; the default where no server reads it."""
    return cast("int", getattr(settings, name, CORE_SETTINGS[name].default))
