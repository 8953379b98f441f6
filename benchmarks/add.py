"""``archivebox add`` of one page with title, DOM, screenshot and headers, against Chromium's own ``--screenshot``.

From command to prompt, in a fresh collection that is initialised, with the programs found before by a run that does not
count (its ``LIB_DIR`` is shared). The floor makes one of the four things; its profile is as fresh as ours.
"""

import os
import tempfile
from pathlib import Path

from benchmarks.commands import ARCHIVEBOX, chromium, collection, environment, local_site, seconds_of
from benchmarks.finding import Bound, Finding, interleaved

PLUGINS = "title,dom,screenshot,headers"
OUTPUTS = ("title/title.txt", "dom/output.html", "screenshot/screenshot.png", "headers/headers.json")


def run(rounds: int) -> list[Finding]:
    finding = Finding("add of one page", "s", Bound.RATIO, 2, [], floor_name="chromium --screenshot")
    with local_site() as site, tempfile.TemporaryDirectory(prefix="bench-lib-") as lib:
        page = f"{site}article"
        add_page(page, lib)
        take_picture(page)
        interleaved(
            rounds,
            lambda: finding.floor.append(take_picture(page)),
            lambda: finding.ours.append(add_page(page, lib)),
        )
    pairs = zip(finding.floor, finding.ours, strict=True)
    finding.notes = {"pairs": "; ".join(f"{floor:.2f} {ours:.2f} ({ours / floor:.2f}x)" for floor, ours in pairs)}
    return [finding]


def add_page(page: str, lib: str) -> float:
    """Seconds of one `add`; LookupError if it left something out."""
    with collection() as data:
        seconds = seconds_of([*ARCHIVEBOX, "add", "--plugins", PLUGINS, page], environment(data, LIB_DIR=lib))
        lacking = [name for name in OUTPUTS if not list(data.glob(f"users/*/snapshots/*/*/*/{name}"))]
    if lacking:
        raise LookupError(f"not archived: {', '.join(lacking)}")
    return seconds


def take_picture(page: str) -> float:
    with tempfile.TemporaryDirectory(prefix="bench-chromium-") as folder:
        picture = Path(folder) / "picture.png"
        command = [chromium(), "--headless", f"--screenshot={picture}", f"--user-data-dir={folder}/profile"]
        command += ["--window-size=1440,2000", "--hide-scrollbars", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
        seconds = seconds_of([*command, page], {**os.environ, "TMPDIR": folder})
        if not picture.stat().st_size:
            raise LookupError("Chromium took no picture")
    return seconds
