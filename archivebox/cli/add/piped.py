"""Owns what `crawl create` and `snapshot create` read from a pipe: URLs, and records."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from uuid import UUID

from archivebox.base_models.keylist import key_list
from archivebox.cli.add.sources import Sources
from archivebox.cli.errors import BadInputError
from archivebox.cli.output import Output
from archivebox.cli.selection import tell_or_pass
from archivebox.cli.stdin import STDIN, StdinRecord
from archivebox.contract.records import MAX_LINE, parse_line
from archivebox.core.intake.request import CrawlRequest
from archivebox.crawls.models import Crawl


@dataclass(slots=True)
class PipedInput:
    """URLs that were typed or come from stdin; records on it that are none are printed as they came."""

    out: Output
    urls: tuple[str, ...]
    crawls: list[UUID] = field(default_factory=list)
    """Those on stdin that are here already."""

    def open(self, sources: Sources, request: CrawlRequest) -> CrawlRequest:
        """BadInputError where nothing was given at a terminal."""
        given = tuple(text for text in self.urls if text != STDIN)
        sources.keep_arguments(given)
        if STDIN in self.urls or not given:
            if sys.stdin is None or sys.stdin.isatty():
                raise BadInputError("Give URLs, or lines or records on stdin. --help shows how.")
            sources.open_lines(self._lines(), "stdin")
        return replace(request, urls=given, lists=sources.lists)

    def _lines(self) -> Iterator[bytes]:
        """Lines of a list of URLs; what belongs to none has been printed."""
        number = 0
        while line := sys.stdin.buffer.readline(MAX_LINE + 1):
            number += 1
            found = parse_line(line)
            record = None if found is None else StdinRecord(number, found.type, found.fields)
            if record is None or (record.type == "Snapshot" and record.fields.get("url")):
                yield line if line.endswith(b"\n") else line + b"\n"
            elif record.type == "Crawl" and record.key is None:
                yield "".join(f"{url}\n" for url in record.urls).encode()
            else:
                self._pass(record)

    def _pass(self, record: StdinRecord) -> None:
        if record.type == "Snapshot" and record.key is None:
            raise record.refusal("this Snapshot has neither an id nor a url")
        if record.type == "Crawl" and record.key is not None:
            if not Crawl.objects.filter(pk__in=key_list([record.key])).exists():
                raise record.refusal(f"there is no crawl {record.key}")
            self.crawls.append(record.key)
        tell_or_pass(self.out, [record], passes=True)
