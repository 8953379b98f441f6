"""Seconds until a page has loaded while all it gets is recorded, against the same load with nobody listening.

Hooks are started cold and in turns, on one browser; only the load itself counts, from the navigation to the load event.
"""

import itertools
import tempfile
from pathlib import Path

from benchmarks.finding import Bound, Finding, interleaved
from tests.plugins_bundled.browser.chain import NAVIGATE, Crawl
from tests.site.serve import Site

PATHS = ("/article", "/iframe", "/lazy", "/cookie-banner", "/video")


def run(rounds: int) -> list[Finding]:
    finding = Finding("load with the recorder", "s", Bound.RATIO, 1.2, [], floor_name="nobody listens")
    numbers = itertools.count()
    with tempfile.TemporaryDirectory() as folder, Site() as site, Crawl(Path(folder), CHROME_QUIET_TIME="0") as crawl:

        def loads(*, recorded: bool) -> list[float]:
            return [load(crawl, f"{site.url_for(path)}?{next(numbers)}", recorded=recorded) for path in PATHS]

        loads(recorded=True)  # the browser's cold caches
        interleaved(
            rounds,
            lambda: finding.floor.extend(loads(recorded=False)),
            lambda: finding.ours.extend(loads(recorded=True)),
        )
    return [finding]


def load(crawl: Crawl, url: str, *, recorded: bool) -> float:
    """Open a page in a tab of its own; return the seconds until its load event."""
    snapshot = crawl.snapshot(url.rpartition("?")[2], url)
    recorder = snapshot.record() if recorded else None
    if recorder is None:
        snapshot.open_tab()
    snapshot.run(NAVIGATE)
    if recorder is not None:
        recorder.stop()
    snapshot.close()
    seconds: float = snapshot.json("chrome/navigation.json")["seconds"]["loaded"]
    return seconds
