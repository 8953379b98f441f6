"""Owns the archive whose quality is measured: pages captured as a person captures them, and the server beside it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from tests.site.bundles import built, kept_folder
from tests.site.serve import Site
from tests.webserver.server import CHECKOUT, Server, environment, in_collection

CAPTURE_S = 3600.0
SCORE_S, SCORE_PAUSE_S = 600.0, 5.0
"""Seconds that the server has for scores at most; between two looks at them."""
REFUSED = "not archived"
"""The verdict on a page in whose place something else came."""
PROGRAMS = "programs"
"""The folder of programs that plugins need, beside what the site is built of: installed once."""
ROWS = """
import json
from archivebox.contract.verdicts import judge
from archivebox.core.models import Snapshot
from archivebox.hooks import outputs_of
for row in Snapshot.objects.order_by("pk"):
    results = list(row.archiveresult_set.all())
    verdict = judge(row.status, row.http_status, results, outputs_of)
    failed = [f"{one.plugin}: {one.reason or one.output_str}" for one in results if one.status == "failed"]
    print(json.dumps({"key": str(row.pk), "url": row.url, "final_url": row.final_url, "status": row.http_status,
                      "folder": str(row.path), "verdict": str(verdict.state), "failed": failed, "quality": row.quality,
                      "with_scripts": row.quality_with_scripts, "is_scored": row.measured_at is not None}))
"""


@dataclass(frozen=True)
class Captured:
    """One page as it was archived."""

    key: str
    url: str
    final_url: str
    status: int | None
    folder: str
    verdict: str
    failed: list[str]
    quality: int | None = None
    """What the program itself says of its replay, in percent."""
    with_scripts: int | None = None
    is_scored: bool = False

    @property
    def path(self) -> str:
        """The path on the site, with its query."""
        parts = urlsplit(self.url)
        return f"{parts.path}?{parts.query}" if parts.query else parts.path

    @property
    def root(self) -> Path:
        return Path(self.folder)

    def file(self, *names: str) -> Path | None:
        """The first of these files that is there."""
        return next((path for name in names if (path := self.root / name).is_file()), None)


def settings() -> dict[str, str]:
    """What the program needs to archive the local web: to be let in, and its programs."""
    return {"PRIVATE_NETWORK_ALLOWLIST": "127.0.0.0/8", "LIB_DIR": str(kept_folder() / PROGRAMS)}


def capture(data: Path, site: Site, paths: Iterable[str]) -> None:
    """Archive these pages with all that is on by default, in one crawl; CalledProcessError if that broke.

    The command ends with a status of its own where nothing could be archived of some page.
    """
    built()
    command = [sys.executable, "-m", "archivebox", "add", *map(site.url_for, paths)]
    env = environment(data, **settings())
    done = subprocess.run(
        command, env=env, cwd=CHECKOUT, check=False, timeout=CAPTURE_S, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    )
    if b'"type":"Summary"' not in done.stdout:
        raise subprocess.CalledProcessError(done.returncode, command)


def captured(data: Path) -> dict[str, Captured]:
    """Path → page; of what was captured twice the last."""
    rows = (Captured(**json.loads(line)) for line in in_collection(data, ROWS).splitlines())
    return {row.path: row for row in rows}


def scored(data: Path) -> dict[str, Captured]:
    """The same, once the running server has scored the replays of all, or has had its time for that.

    A page in whose place something else came is tried again later, and not scored before.
    """
    end = time.monotonic() + SCORE_S
    while True:
        rows = captured(data)
        if all(row.is_scored or row.verdict == REFUSED for row in rows.values()) or time.monotonic() > end:
            return rows
        time.sleep(SCORE_PAUSE_S)


def serve(data: Path) -> Server:
    return Server(data, settings())
