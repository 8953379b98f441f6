"""The disk that twenty pages of one site take, and a second capture of them: bodies they share are stored once.

Bytes are apparent sizes, each file once however many names it has. The floor of records is what the site sent: bodies
of all answers, those with the same SHA-256 once.
"""

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.commands import ARCHIVEBOX, collection, environment, local_site, seconds_of
from benchmarks.finding import Bound, Finding

PAGES = 20
KB = 1000


def run(_rounds: int) -> list[Finding]:
    """Once: it counts bytes."""
    with local_site() as site, collection() as data:
        urls = [
            f"{site}{path}?n={number}" for number in range(PAGES // 2) for path in ("article", "apps/react/items/2")
        ]
        first = capture(data, urls)
        bodies = received(first)
        records = files_below([page / "warc" for page in first])
        outputs, notes = files_below(first), of_plugins(first)
        alone = [total(files_below([page])) for page in first]
        again = files_below(capture(data, urls, "--config", "KEEP_UNCHANGED=linked"))
    added = sum(size for inode, size in again.items() if inode not in outputs)
    return [
        Finding(f"WARC records of {PAGES} pages", "kB", Bound.RATIO, 1.2, [total(records)], [total(bodies)], "bodies"),
        Finding(
            "a page with all outputs",
            "kB",
            Bound.RATIO,
            1,
            [total(outputs) / PAGES],
            alone,
            "a page alone",
            notes=notes,
        ),
        Finding("what a second capture of an unchanged page adds", "kB", Bound.MOST, 100, [added / PAGES / KB]),
    ]


def capture(data: Path, urls: Sequence[str], *options: str) -> list[Path]:
    """The folders of the pages that this makes."""
    before = set(page_folders(data))
    seconds_of([*ARCHIVEBOX, "add", *options, *urls], environment(data))
    return [folder for folder in page_folders(data) if folder not in before]


def page_folders(data: Path) -> list[Path]:
    return sorted(data.glob("users/*/snapshots/*/*/*/"))


def received(pages: Iterable[Path]) -> dict[str, int]:
    """SHA-256 and size of each body that was recorded."""
    lines = [line for page in pages for line in (page / "responses" / "index.jsonl").read_text().splitlines()]
    return {found["sha256"]: found["size"] for line in lines if (found := json.loads(line)).get("sha256")}


def files_below(folders: Iterable[Path]) -> dict[int, int]:
    """Inode and size of all files below these folders."""
    found = {}
    for top in folders:
        for folder, _, names in os.walk(top):
            for status in (os.lstat(os.path.join(folder, name)) for name in names):  # noqa: PTH118 - thousands
                found[status.st_ino] = status.st_size
    return found


def total(sizes: "dict[int, int] | dict[str, int]") -> float:
    """In kB."""
    return sum(sizes.values()) / KB


def of_plugins(pages: Sequence[Path]) -> dict[str, float | str]:
    """kB a page of each plugin that takes more than one."""
    names = sorted({folder.name for page in pages for folder in page.iterdir() if folder.is_dir()})
    sizes = {name: total(files_below([page / name for page in pages])) / len(pages) for name in names}
    return {name: size for name, size in sizes.items() if size > 1}
