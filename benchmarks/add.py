"""``archivebox add`` of one page with title, DOM, screenshot and headers, against Chromium's own ``--screenshot``.

From command to prompt, in a collection that has found its programs with a page before. The floor makes one of the four
things; its profile is as fresh as ours.
"""

import itertools
import os
import tempfile
from pathlib import Path

from benchmarks.commands import ARCHIVEBOX, chromium, collection, environment, local_site, seconds_of
from benchmarks.finding import Bound, Finding, interleaved

PLUGINS = "title,dom,screenshot,headers"
OUTPUTS = ("title/title.txt", "dom/output.html", "screenshot/thumbnail.webp", "headers/headers.json")


def run(rounds: int) -> list[Finding]:
    finding = Finding("add of one page", "s", Bound.RATIO, 2, [], floor_name="chromium --screenshot")
    numbers = itertools.count()
    with local_site() as site, collection() as data:

        def page() -> str:
            return f"{site}article?n={next(numbers)}"

        add_page(data, page())
        take_picture(page())
        interleaved(
            rounds,
            lambda: finding.floor.append(take_picture(page())),
            lambda: finding.ours.append(add_page(data, page())),
        )
    pairs = zip(finding.floor, finding.ours, strict=True)
    finding.notes = {"pairs": "; ".join(f"{floor:.2f} {ours:.2f} ({ours / floor:.2f}x)" for floor, ours in pairs)}
    return [finding]


def add_page(data: Path, page: str) -> float:
    """Seconds of one `add`; LookupError if it left something out."""
    before = made(data)
    seconds = seconds_of([*ARCHIVEBOX, "add", "--plugins", PLUGINS, page], environment(data, LIB_DIR=str(data / "lib")))
    if len(made(data) - before) != len(OUTPUTS):
        raise LookupError(f"not archived with all outputs: {page}")
    return seconds


def made(data: Path) -> set[Path]:
    return {path for name in OUTPUTS for path in data.glob(f"users/*/snapshots/*/*/*/{name}")}


def take_picture(page: str) -> float:
    with tempfile.TemporaryDirectory(prefix="bench-chromium-") as folder:
        picture = Path(folder) / "picture.png"
        command = [chromium(), "--headless", f"--screenshot={picture}", f"--user-data-dir={folder}/profile"]
        command += ["--window-size=1440,2000", "--hide-scrollbars", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
        seconds = seconds_of([*command, page], {**os.environ, "TMPDIR": folder})
        if not picture.stat().st_size:
            raise LookupError("Chromium took no picture")
    return seconds
