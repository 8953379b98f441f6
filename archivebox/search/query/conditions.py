"""Owns what a query means in rows: one condition for each kind of node, and for each key."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import chain, islice
from operator import or_
from typing import Any, TypeVar
from uuid import UUID

from django.db import connection
from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.db.models.lookups import GreaterThanOrEqual, LessThanOrEqual

from archivebox.base_models.literal import Literal, one_of
from archivebox.base_models.visibility import EVERYTHING, ViewerScope, Visibility, seen_by
from archivebox.contract.presentation import Role
from archivebox.core.archiveresult import ArchiveResult
from archivebox.core.note import Note
from archivebox.core.snapshot import LEAST_NOT_OK, UNSEALED, Snapshot
from archivebox.core.tag import Tag
from archivebox.crawls.crawl import Crawl
from archivebox.hooks import outputs_of, plugins
from archivebox.search.query.keys import KEPT, NO_ANSWER, TYPES, UNKNOWN
from archivebox.search.query.parser import Either, Every, Field, Node, Not, Result, WordGroup
from archivebox.search.query.times import floor_of, moment

Texts = Mapping[tuple[str, ...], list[UUID]]
"""Words → the Snapshots one of whose texts has them all."""

FAILED = Result(status="failed")
NOTHING = Q(pk__in=[])
Rows = TypeVar("Rows", bound="QuerySet[Any, Any]")
FULL_ID = 32
ABOVE_ALL = 1_000
"""More than any quality that a query speaks of."""
MOST_MEDIA_TYPES = 1_000


@dataclass(frozen=True, slots=True)
class QueryContext:
    """What a condition is made with, beside the query."""

    scope: ViewerScope
    """Which pages there are for whoever asks."""
    texts: Texts = field(default_factory=dict)
    first: UUID | None = None
    """The key from which on pages are wanted: what an index lists of them need not go further back."""
    last: UUID | None = None
    """The key up to which they are wanted."""
    notes: bool = True
    """Whether notes are searched: they are shown to whoever is logged in and reads pages."""

    @property
    def is_near(self) -> bool:
        """Whether so few are looked at that each is asked, instead of an index in another order."""
        return self.first is not None and self.last is not None

    def near(self, rows: Rows, column: str) -> Rows:
        """Those of the rows in whose column is the key of a page that is wanted."""
        bounds = {f"{column}__gte": self.first, f"{column}__lte": self.last}
        return rows.filter(**{name: key for name, key in bounds.items() if key is not None})

    def with_texts(self, groups: Iterable[tuple[str, ...]]) -> Q:
        """Those of which a text was found that has all words of one of the groups."""
        return Q(pk__in=list(dict.fromkeys(chain.from_iterable(self.texts.get(words, []) for words in groups))))

    def pages(self, rows: "QuerySet[Any, Any]", column: str) -> Q:
        """Those whose key is in the column of one of the rows."""
        return Q(pk__in=self.near(rows, column).values(column))


def condition(node: Node, known: QueryContext) -> Q:
    """What has to be true of a Snapshot."""
    listed = listed_for(node)
    if listed is not None:
        return known.pages(listed, "snapshot_id") if known.notes or not _is_of_notes(node) else NOTHING
    match node:
        case WordGroup(words):
            return called(words, notes=known.notes) | known.with_texts([words])
        case Field("text", value):
            return known.with_texts([(value,)])
        case Field("is", "latest"):
            return _is_latest(known.scope)
        case Field("is", "complete"):
            return Q(status="sealed") & ~condition(FAILED, known)
        case Field("quality", value):
            return _quality(value, known)
        case Field("http", value):
            return _http(value, known)
        case Field("url", value):
            return _url(value, known)
        case Field(key, value):
            return _OF_KEY[key](value)
        case Result():
            return Q(Exists(_results(node).filter(snapshot_id=OuterRef("pk"))))
        case Every(parts):
            return Q(*(condition(part, known) for part in parts))
        case Either(parts):
            single = [part.words for part in parts if isinstance(part, WordGroup) and len(part.words) == 1]
            others = (part for part in parts if not (isinstance(part, WordGroup) and len(part.words) == 1))
            any_of = [group[0] for group in single]
            found = _has(any_of, notes=known.notes) | known.with_texts(single) if any_of else NOTHING
            return reduce(or_, (condition(part, known) for part in others), found)
        case Not(part):
            return ~condition(part, known)


def called(words: tuple[str, ...], *, notes: bool) -> Q:
    """Every word is in title, URL, tags or, where these are searched, notes, in whatever case."""
    return Q(*(_has([word], notes=notes) for word in words))


def _has(words: Sequence[str], *, notes: bool) -> Q:
    """One of the words is there: by one look at tags and notes for all of them."""
    bare = [word.rstrip("*") for word in words]
    tagged = Snapshot.tags.through.objects.filter(_contains("tag__name", bare)).values("snapshot_id")
    found = _contains("title", bare) | _contains("url", bare) | Q(pk__in=tagged)
    return found | Q(pk__in=_notes(*bare).values("snapshot_id")) if notes else found


def _contains(column: str, texts: Iterable[str]) -> Q:
    return reduce(or_, (Q(**{f"{column}__icontains": text}) for text in texts))


def _notes(*texts: str) -> "QuerySet[Note]":
    return Note.objects.order_by().filter(_contains("text", texts))


def _is_of_notes(node: Node) -> bool:
    return node == Field("has", "note") or (isinstance(node, Field) and node.key == "note")


def listed_for(node: Node) -> "QuerySet[Any, Any] | None":
    """The rows by which an index lists pages for this, perhaps hundred thousands; None: there is no such index.

    Failures are few, and so is what some plugins keep. Else each page is asked what it has.
    """
    match node:
        case Field("tag", value):
            return _taggings(value)
        case Field("note", value):
            return _notes(value)
        case Field("has", "note"):
            return Note.objects.order_by()
        case Field("has", value):
            return _kept(*KEPT[value])
        case Field("is", "failed"):
            return _results(FAILED)
        case Result(plugin=plugin, meant_status=status) if status == "failed" or (status == "succeeded" and plugin):
            return _results(node)
        case _:
            return None


def _results(wanted: Result) -> "QuerySet[Any, Any]":
    rows = ArchiveResult.objects.filter(status=Literal(wanted.meant_status))
    if wanted.plugin:
        rows = rows.filter(plugin=wanted.plugin)
    if wanted.reason:
        rows = rows.filter(_reason(wanted.reason))
    return rows


def _reason(value: str) -> Q:
    """Whatever it says of itself after a colon; with the bounds that SQLite needs, as :func:`_url_begins`."""
    means = Q(reason=value) | Q(reason__startswith=f"{value}:")
    return means & Q(reason__gte=value, reason__lt=f"{value};") if connection.vendor == "sqlite" else means


def _kept(role: Role, mimetypes: tuple[str, ...]) -> "QuerySet[Any, Any]":
    """Results of plugins with such a role that left a file of such a type: some have files of several roles."""
    names = [name for name in plugins() if any(output.role == role for output in outputs_of(name))]
    rows = ArchiveResult.objects.filter(status=Literal("succeeded"), plugin__in=names)
    return rows.filter(reduce(or_, (Q(output_mimetypes__contains=begins) for begins in mimetypes or ("/",))))


def _taggings(name: str) -> "QuerySet[Any, Any]":
    slug = Tag.slug_of(name)
    keys = list(Tag.objects.filter(slug=slug).values_list("pk", flat=True)) if slug else []
    return Snapshot.tags.through.objects.filter(tag_id__in=keys)


def _host(value: str) -> Q:
    if value.startswith("*."):
        return Q(domain__endswith=value.removeprefix("*"))
    return Q(domain=value)


def _url(value: str, known: QueryContext) -> Q:
    if "://" not in value:
        return Q(url__icontains=value)
    if value.endswith("*"):
        return _url_begins(value.removesuffix("*"), known)
    return Q(url=value)


def _url_begins(beginning: str, known: QueryContext) -> Q:
    """With the bounds that SQLite needs to use its index; elsewhere their order depends on the database's language."""
    begins = Q(url__startswith=beginning)
    if connection.vendor == "sqlite" and not known.is_near:
        begins &= Q(url__gte=beginning, url__lt=beginning[:-1] + chr(ord(beginning[-1]) + 1))
    return begins


def _media_types(begins: tuple[str, ...]) -> Q:
    """The whole names that are there, since an index of them has no beginnings."""
    names = [name for name in begins if not name.endswith("/")]
    for family in begins:
        if family.endswith("/"):
            names += islice(distinct_values("mime_type", family, EVERYTHING), MOST_MEDIA_TYPES)
    return Q(mime_type__in=names)


def _mime(value: str) -> Q:
    family = value.rstrip("*").rstrip("/")
    return _media_types((value,) if "/" in family else (f"{family}/",))


def _page_status(value: str) -> Q:
    return _unsealed(value) if value in ("queued", "started", "paused") else Q(status=Literal(value))


def _unsealed(*statuses: str) -> Q:
    """Few at most times, and in an index of their own, whose condition this shows (Literal)."""
    return UNSEALED & Q(status__in=one_of(*statuses))


def _begins(column: str, digits: str) -> Q:
    """A key as its first hexadecimal digits."""
    first, last = UUID(digits.ljust(FULL_ID, "0")), UUID(digits.ljust(FULL_ID, "f"))
    return Q(**{f"{column}__gte": first, f"{column}__lte": last})


def _crawl(digits: str) -> Q:
    """Mostly one, whose pages an index has in their order (:meth:`SnapshotQuerySet.of_crawl`)."""
    crawls = Crawl.objects.filter(_begins("pk", digits)).values("pk")
    return Q(crawl=Subquery(crawls[:1])) if len(crawls[:2]) == 1 else _begins("crawl_id", digits)


def _state(value: str) -> Q:
    return _STATES[value]()


def _is_tagged() -> Q:
    return Q(Exists(Snapshot.tags.through.objects.filter(snapshot_id=OuterRef("pk"))))


def _is_latest(scope: ViewerScope) -> Q:
    newer = seen_by(scope, Snapshot.objects.in_library()).filter(url=OuterRef("url"), pk__gt=OuterRef("pk"))
    return ~Q(Exists(newer))


def _quality(value: str, known: QueryContext) -> Q:
    """Bad pages are few, and looked up in their index; good ones are most of a list: Coalesce hides them from it."""
    if value == UNKNOWN:
        return Q(quality__isnull=True)
    sign, number = value.rstrip("0123456789"), int(value.lstrip("<>="))
    if sign in ("<", "<="):
        most = number - (sign == "<")
        if known.is_near:
            return Q(LessThanOrEqual(Coalesce("quality", ABOVE_ALL), most))
        return known.pages(Snapshot.objects.filter(quality__lte=most), "pk")
    if sign in (">", ">="):
        return Q(GreaterThanOrEqual(Coalesce("quality", -1), number + (sign == ">")))
    return Q(quality=number)


def _http(value: str, known: QueryContext) -> Q:
    """Answers that are no success are few, and listed by an index, whose condition SQLite is shown (Literal)."""
    if value == NO_ANSWER:
        return Q(status="sealed", http_status=0)
    first = int(value.replace("xx", "00"))
    last = first + 99 if value.endswith("xx") else first
    if known.is_near or first < LEAST_NOT_OK:
        status = Coalesce("http_status", 0)
        return Q(GreaterThanOrEqual(status, first)) & Q(LessThanOrEqual(status, last))
    listed = Snapshot.objects.filter(http_status__gte=Literal(LEAST_NOT_OK))
    return known.pages(listed.filter(http_status__gte=first, http_status__lte=last), "pk")


def _visibility(value: str) -> Q:
    """Shown to SQLite (Literal): what few see has an index of its own."""
    return Q(visibility=Literal(value))


_STATES: dict[str, Callable[[], Q]] = {
    "open": lambda: _unsealed("queued", "started"),
    "done": lambda: Q(status="sealed"),
    "paused": lambda: _unsealed("paused"),
    "cancelled": lambda: Q(status=Literal("cancelled")),
    "unfetched": lambda: Q(status=Literal("cancelled"), fence=Literal(0)),
    "tagged": _is_tagged,
    "seed": lambda: Q(depth=Literal(0)),
    "lossy": lambda: Q(is_lossy=True),
    "removed": lambda: Q(retired_at__isnull=False),
    "public": lambda: _visibility(Visibility.PUBLIC),
    "private": lambda: _visibility(Visibility.PRIVATE),
}
_OF_KEY: dict[str, Callable[[str], Q]] = {
    "is": _state,
    "host": _host,
    "title": lambda value: Q(title__icontains=value),
    "after": lambda value: Q(pk__gte=floor_of(moment(value))),
    "before": lambda value: Q(pk__lt=floor_of(moment(value))),
    "status": _page_status,
    "visibility": _visibility,
    "type": lambda value: _media_types(TYPES[value]),
    "mime": _mime,
    "crawl": _crawl,
    "id": lambda value: _begins("pk", value),
}


def distinct_values(column: str, beginning: str, scope: ViewerScope) -> Iterator[str]:
    """The values that begin so of what is seen, in order; one look into the column's index for each."""
    names = seen_by(scope, Snapshot.objects.kept()).order_by(column).values_list(column, flat=True)
    found = names.filter(**{f"{column}__gte": beginning}).first()
    while found is not None and found.startswith(beginning):
        yield found
        found = names.filter(**{f"{column}__gt": found}).first()
