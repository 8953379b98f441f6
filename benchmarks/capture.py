"""What the default plugins cost: disk against what came over the wire, and files as URLs against fetching them.

A URL that is a file (a PDF, a picture) is kept once, with no browser work beyond noticing what it is: it is the
time from the seal of one to that of the next, in a crawl that is under way, against ``curl`` of the same.
The picture of a page's whole length is measured in the same way, against the same page without it.
"""

import itertools
import json
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from archivebox.config.settings import DATA_FOLDER
from archivebox.core.snapshot import Snapshot
from benchmarks.commands import local_site
from benchmarks.finding import Bound, Finding, interleaved
from benchmarks.heavy import heavy_site
from benchmarks.room import Room, room

FILES = ("file.pdf", "image.png")
WARM_UP, COUNTED = 2, 4
JPEG = 3.5
"""Times the wire of a page of photographs, most of whose bytes are JPEG: 2.5 cannot be had unseen (decision 0050)."""


def run(rounds: int) -> list[Finding]:
    with local_site() as site, heavy_site() as heavy, room([], warm_up=0) as engine:
        return [
            files(engine, site, rounds),
            disk(engine, heavy, rounds, "disk of a page", 2.5),
            disk(engine, f"{heavy}photographs", rounds, "disk of a page of JPEG", JPEG),
        ]


def files(engine: Room, site: str, rounds: int) -> Finding:
    finding = Finding("a file as URL", "s", Bound.BEYOND, 0.3, [], floor_name="curl")
    numbers = itertools.count()

    def urls() -> list[str]:
        return [f"{site}{name}?n={next(numbers)}" for name in FILES * ((WARM_UP + COUNTED) // len(FILES))]

    interleaved(
        rounds,
        lambda: finding.floor.extend(map(fetch, urls())),
        lambda: finding.ours.extend(between_seals(engine, urls())),
    )
    return finding


def full_page(rounds: int) -> list[Finding]:
    """Time of a page with all that is on by default, with and without the picture of its whole length."""
    finding = Finding("a page with its full picture", "s", Bound.RATIO, 1.15, [], floor_name="the first screen alone")
    numbers = itertools.count()
    with local_site() as site, room([], warm_up=0) as engine:

        def measure(into: list[float], *, full: bool) -> None:
            asked = Room(engine.watch, {**engine.config, "SCREENSHOT_FULL_PAGE": full})
            urls = [f"{site}article?n={next(numbers)}" for _ in range(WARM_UP + COUNTED)]
            into.extend(between_seals(asked, urls))

        interleaved(rounds, lambda: measure(finding.floor, full=False), lambda: measure(finding.ours, full=True))
    return [finding]


def fetch(url: str) -> float:
    start = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="bench-curl-") as folder:
        subprocess.run(["curl", "-sSf", "-o", f"{folder}/file", url], check=True)
    return time.perf_counter() - start


def between_seals(engine: Room, urls: Sequence[str]) -> list[float]:
    crawl = engine.begin(urls)
    engine.wait(crawl)
    seals = Snapshot.objects.filter(crawl=crawl).order_by("sealed_at").values_list("sealed_at", flat=True)
    moments = [seal.timestamp() for seal in seals if seal is not None]
    return [later - earlier for earlier, later in itertools.pairwise(moments)][WARM_UP - 1 :]


def disk(engine: Room, page: str, rounds: int, name: str, bound: float) -> Finding:
    """Bytes of a page's folder, against the bodies of all that its browser got."""
    finding = Finding(name, "kB", Bound.RATIO, bound, [], floor_name="over the wire")
    shares: dict[str, int] = {}
    for number in range(rounds):
        crawl = engine.begin([f"{page}?disk={number}"])
        engine.wait(crawl)
        (folder,) = (DATA_FOLDER.root / page.output_dir for page in Snapshot.objects.filter(crawl=crawl))
        shares = {part.name: size(part) for part in folder.iterdir() if part.is_dir()}
        finding.ours.append(sum(shares.values()) / 1000)
        finding.floor.append(over_the_wire(folder) / 1000)
    largest = sorted(shares.items(), key=lambda share: -share[1])[:8]
    finding.notes = {name: f"{size / 1000:.0f} kB" for name, size in largest}
    return finding


def size(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir())


def over_the_wire(folder: Path) -> int:
    lines = (folder / "responses" / "index.jsonl").read_text().splitlines()
    return sum(json.loads(line).get("size", 0) for line in lines)
