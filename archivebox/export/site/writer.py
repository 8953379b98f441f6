"""Owns the site: a folder for each page, lists of them, and what the search in the browser looks through."""

import io
import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from archivebox.contract.formats import FormatKind
from archivebox.export.pages import ExportedPage, read_beginning
from archivebox.export.site import html
from archivebox.export.site.copies import Copy, PageCopies, copies_of, without_scripts
from archivebox.export.writer import Failures, Writer
from archivebox.export.zip_parts import DIRECTORY, ZipPart, end_zip, folder_of, zip_part
from archivebox.lib import jsonl
from archivebox.lib.html_sanitizer import article

PER_LIST = 100
"""Pages of one page of the list."""
TEXT, EXCERPT = 20_000, 240
"""Characters of a page's text that are searched, and that the list shows."""
MOST_HTML = 16 * 1024 * 1024
"""Bytes of an article, or of a saved page, that is in the site."""
SHARD = 2 * 1024 * 1024
"""Bytes of text that the search loads at a time."""
NOTHING = "It has nothing for the site: no article, text, saved page, picture or PDF was kept."
ENTRIES, TEXTS = "entries", "texts"
_HERE = Path(__file__).parent
_FONT = Path(__file__).parents[2] / "web" / "static" / "web" / "vendor" / "fraunces-latin.woff2"
_FRAME, _READING = "saved.html", "index.html"


class SiteWriter(Writer):
    """Pages as they come; lists and search at the end, when it is known how many there are."""

    beside = (DIRECTORY, ENTRIES, TEXTS)

    def append(self, pages: Sequence[ExportedPage]) -> Failures:
        with zip_part(self.files) as part:
            return {page.snapshot.pk: NOTHING for page in pages if not self._add(page, part)}

    def _add(self, page: ExportedPage, part: ZipPart) -> bool:
        """Whether there is something to see."""
        found, text = copies_of(page), page.text(TEXT * 4)[:TEXT]
        folder = f"pages/{folder_of(page)}"
        shown = [copy for copy in found.copies if _add_copy(page, copy, folder, part)]
        for path in found.pictures:
            part.add_file(page.folder / path, f"{folder}/reader/{path.removeprefix(f'{found.article_folder}/')}")
        entry = _entry(page, found, text)
        if entry["thumbnail"]:
            part.add_file(page.folder / found.thumbnail, f"{folder}/{entry['thumbnail']}")
        for name, data in _pages(page, found, shown, entry, text):
            part.add_bytes(data.encode("utf-8", "replace"), f"{folder}/{name}")
        self.files[ENTRIES].write(jsonl.dumps(entry))
        self.files[TEXTS].write(jsonl.dumps(entry | {"text": " ".join(text.split())}))
        return bool(found.article or shown or text)

    def write_end(self) -> None:
        with zip_part(self.files) as part:
            for name in ("site.css", "search.js"):
                part.add_file(_HERE / name, f"site/{name}")
            part.add_file(_FONT, "site/fraunces-latin.woff2")
            shards = self._add_shards(part)
            self._add_lists(part, shards)
        end_zip(self.files)

    def _add_shards(self, part: ZipPart) -> int:
        """A script each, since a page that was opened as a file may load no other data."""
        number = 0
        texts = self.files[TEXTS]
        texts.seek(0)
        while lines := texts.readlines(SHARD):
            number += 1
            data = b"found([\n" + b",\n".join(line.rstrip() for line in lines) + b"\n]);\n"
            part.add_bytes(data, f"site/pages-{number}.js")
        return number

    def _add_lists(self, part: ZipPart, shards: int) -> None:
        count = sum(1 for _ in self._entries())
        entries, last = self._entries(), max(1, -(-count // PER_LIST))
        for number in range(1, last + 1):
            some = list(islice(entries, PER_LIST))
            page = html.list_page(some, number=number, last=last, count=count, shards=shards)
            part.add_bytes(page.encode("utf-8", "replace"), html.list_name(number))

    def _entries(self) -> Iterator[html.Entry]:
        self.files[ENTRIES].seek(0)
        return (json.loads(line) for line in self.files[ENTRIES])


def _entry(page: ExportedPage, found: PageCopies, text: str) -> dict[str, object]:
    one = page.snapshot
    excerpt = " ".join(text[: EXCERPT * 2].split())[:EXCERPT]
    thumbnail = f"thumbnail{Path(found.thumbnail).suffix.lower()}" if found.thumbnail else ""
    return {"folder": folder_of(page), "title": one.title or one.url, "url": one.url, "host": one.domain,
            "date": f"{one.created_at:%Y-%m-%d}", "tags": list(page.tags), "excerpt": excerpt,
            "thumbnail": thumbnail}  # fmt: skip


def _add_copy(page: ExportedPage, copy: Copy, folder: str, part: ZipPart) -> bool:
    """False where it is no longer there, or is too large, or cannot be made harmless."""
    if copy.kind is not FormatKind.PAGE:
        return part.add_file(page.folder / copy.source, f"{folder}/{copy.name}") is not None
    data = read_beginning(page.folder, copy.source, MOST_HTML + 1)
    harmless = list(without_scripts(data)) if len(data) <= MOST_HTML else []
    if harmless:
        part.add(io.BytesIO(b"".join(harmless)), f"{folder}/{copy.name}")
    return bool(harmless)


def _pages(
    page: ExportedPage, found: PageCopies, shown: Sequence[Copy], entry: html.Entry, text: str
) -> Iterator[tuple[str, str]]:
    """The pages of one page: what is read, and what was saved, by file name."""
    saved = next((copy for copy in shown if copy.kind is FormatKind.PAGE), None)
    named = [("Reader" if found.article else "Text", _READING)] if found.article or text or not shown else []
    named += [(copy.label, _FRAME if copy is saved else copy.name) for copy in shown]
    yield _READING, html.reading_page(entry, html.links_to(named, _READING), _content(page, found, shown, text))
    if saved:
        yield _FRAME, html.framed_page(entry, html.links_to(named, _FRAME), saved.name)


def _content(page: ExportedPage, found: PageCopies, shown: Sequence[Copy], text: str) -> SafeString:
    if found.article:
        source = read_beginning(page.folder, found.article, MOST_HTML).decode("utf-8", "replace")
        return mark_safe(article(source, "reader/", ""))  # noqa: S308 - cleaned
    if text:
        return format_html('<pre class="text" dir="auto">{}</pre>', text)
    picture = next((copy for copy in shown if copy.kind is FormatKind.PICTURE), None)
    if picture:
        return format_html('<img src="{}" alt="The page as it looked">', picture.name)
    return format_html("<p>{}</p>", "See the files above." if shown else "Nothing of this page was kept.")
