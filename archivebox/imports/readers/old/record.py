"""Owns what the database and the index.json of an earlier ArchiveBox have in common: one page, and its results."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from archivebox.contract.outcomes import Status
from archivebox.imports.readers.old.moments import moment, of_timestamp
from archivebox.lib.jsonl import JSON

_CAPTURED_AGAIN = re.compile(r"#\d{4}-\d\d-\d\dT\d\d:\d\d\S*$")
"""What "Re-Snapshot" of 0.5 to 0.7 put behind a URL, which could be there only once."""
_STATUS = {
    "succeeded": Status.SUCCEEDED, "failed": Status.FAILED, "skipped": Status.SKIPPED, "noresults": Status.NORESULTS,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class OldResult:
    """What one extractor said of one page."""

    extractor: str
    status: Status
    output: str
    started_at: datetime | None = None
    ended_at: datetime | None = None

    @classmethod
    def of(cls, extractor: object, row: Mapping[str, object]) -> "OldResult | None":
        """None for what has not ended."""
        status = _STATUS.get(str(row.get("status")))
        if status is None or not isinstance(extractor, str):
            return None
        said = row.get("output_str") or row.get("output")
        output = said if isinstance(said, str) else ""
        return cls(extractor, status, output, moment(row.get("start_ts")), moment(row.get("end_ts")))


@dataclass(frozen=True, slots=True)
class OldPage:
    """One page as an earlier ArchiveBox had it."""

    timestamp: str
    """Names it, and its folder up to 0.8."""
    url: str
    title: str = ""
    tags: tuple[str, ...] = ()
    added_at: datetime | None = None
    bookmarked_at: datetime | None = None
    results: tuple[OldResult, ...] = field(default=())
    folder: str = ""
    """Below the collection, where it is not that of its timestamp."""

    @property
    def captured_at(self) -> datetime | None:
        """When the first extractor that succeeded began; else when the page was added."""
        starts = [one.started_at for one in self.results if one.status is Status.SUCCEEDED and one.started_at]
        return min(starts, default=self.added_at or self.bookmarked_at)

    @property
    def own_url(self) -> str:
        """Without what made it differ from that of an earlier capture."""
        return _CAPTURED_AGAIN.sub("", self.url)


def page_of_index(record: Mapping[str, JSON]) -> OldPage | None:
    """The page that an index.json tells of; None where it names no URL or no timestamp."""
    url, timestamp = record.get("url"), record.get("timestamp")
    if not isinstance(url, str) or not isinstance(timestamp, str) or of_timestamp(timestamp) is None:
        return None
    title, tags, history = record.get("title"), record.get("tags"), record.get("history")
    return OldPage(
        timestamp=timestamp,
        url=url,
        title=title if isinstance(title, str) else "",
        tags=split_tags(tags),
        added_at=moment(record.get("added")),
        bookmarked_at=of_timestamp(timestamp),
        results=results_of_history(history),
    )


def results_of_history(history: JSON) -> tuple[OldResult, ...]:
    """Extractor → what became of each of its runs."""
    if not isinstance(history, dict):
        return ()
    runs = ((name, run) for name, each in history.items() if isinstance(each, list) for run in each)
    found = (OldResult.of(name, run) for name, run in runs if isinstance(run, dict))
    return tuple(one for one in found if one is not None)


def split_tags(tags: object) -> tuple[str, ...]:
    """Tags of a text with commas, or of a list."""
    names: Iterable[object] = tags.split(",") if isinstance(tags, str) else tags if isinstance(tags, list) else ()
    return tuple(name.strip() for name in names if isinstance(name, str) and name.strip())
