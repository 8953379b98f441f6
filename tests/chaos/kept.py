"""What has to be true of pages after kills: sealed once, nothing failed because of a kill, and the WARC complete."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from sqlite3 import Row

from warcio.archiveiterator import ArchiveIterator

from archivebox.contract.failures import BY_KILL
from archivebox.contract.reasons import split
from tests.acceptance.archive.conftest import Home
from tests.chaos.opening import Page
from tests.site.server import Served

AS_GOOD = {
    "on_Snapshot__48_modalcloser_wait.py": {"succeeded", "noresults"},
    "on_Snapshot__63_ytdlp.bg.py": {"skipped not_applicable:what this page contains", "noresults"},
}
"""Hook → statuses of which none is worse than another: the first says whether it had to wait for a banner, which is by
chance; the second looks for media unless the stored page, which may come later by a kill, says that there are none."""
LOAD = re.compile(r"[?&]load=(\d+)")


def problems(home: Home, pages: Sequence[Page], expected: dict[str, str]) -> list[str]:
    """Everything that is wrong. ``expected``: hook → status of a page that nobody disturbed."""
    found = [problem for page in pages for problem in _of_page(home, page, expected)]
    urls = Counter(row["url"] for row in home.rows("SELECT url FROM core_snapshot"))
    found += [f"{url} has {count} Snapshots" for url, count in urls.items() if count > 1]
    running = home.rows("SELECT cmd FROM machine_process WHERE status = 'running'")
    return found + [f"on record as running: {row['cmd']}" for row in running]


def final_failures(home: Home, pages: Sequence[Page], expected: dict[str, str]) -> list[str]:
    """What kills have made final, before anybody asks for another try; the table of failures says what they may do."""
    return [problem for page in pages for problem in _final_failures(home, page, expected)]


def _final_failures(home: Home, page: Page, expected: dict[str, str]) -> Iterator[str]:
    for hook, status in statuses(home, page).items():
        name, _, reason = status.partition(" ")
        may_be = name == "backoff" and split(reason)[0] in BY_KILL
        if name in ("failed", "backoff") and status != expected.get(hook) and not may_be:
            yield f"page {page.number}: {hook} was {status} before anybody asked for another try"


def statuses(home: Home, page: Page) -> dict[str, str]:
    """Hook → status of a page's results, with the reason of a failure."""
    return {row["hook_name"]: f"{row['status']} {row['reason']}".strip() for row in _results(home, page)}


def _results(home: Home, page: Page) -> list[Row]:
    return home.rows(
        "SELECT hook_name, status, reason FROM core_archiveresult "
        f"WHERE snapshot_id = '{page.snapshot_id.replace('-', '')}'"
    )


def _of_page(home: Home, page: Page, expected: dict[str, str]) -> Iterator[str]:
    (row,) = home.rows(f"SELECT status, sealed_at FROM core_snapshot WHERE url = '{page.url}'")
    if row["status"] != "sealed" or row["sealed_at"] is None:
        yield f"page {page.number} is {row['status']}"
    counts = Counter(row["hook_name"] for row in _results(home, page))
    yield from (f"page {page.number}: {hook} has {count} results" for hook, count in counts.items() if count > 1)
    found = statuses(home, page)
    for hook, status in expected.items():
        if found.get(hook) not in AS_GOOD.get(hook, set()) | {status}:
            yield f"page {page.number}: {hook} is {found.get(hook)}, without a kill it is {status}"
    yield from (f"page {page.number}: {problem}" for problem in _missing_answers(page))


def _missing_answers(page: Page) -> Iterator[str]:
    """Answers of the page's last load that its WARC does not have with the same bytes."""
    served = [one for one in page.site.served if f"page={page.number}&load=" in one.url]
    if not served:
        yield "no load of it was seen"
        return
    last = max(map(_load_of, served))
    kept = list(_responses(page.folder / "warc"))
    bodies = {(url, hashlib.sha256(body).hexdigest()) for url, body in kept}
    for one in served:
        if _load_of(one) == last and (one.url, one.body) not in bodies:
            yield f"{one.url} is not in the WARC"
    if not any(url == page.url and f"load={last}<".encode() in body for url, body in kept):
        yield f"load {last}: the document is not in the WARC"


def _load_of(served: Served) -> int:
    found = LOAD.search(served.url)
    return int(found[1]) if found else 0


def _responses(folder: Path) -> Iterator[tuple[str, bytes]]:
    """URL and body of each response in the WARC files of a folder; of a revisit, the body that its digest names."""
    bodies: dict[str, bytes] = {}
    answers: list[tuple[str, str]] = []
    for path in folder.glob("*.warc.gz"):  # in any order: a revisit may refer to a file that is read later
        with path.open("rb") as stream:
            for record in ArchiveIterator(stream):
                url, digest = map(record.rec_headers.get_header, ("WARC-Target-URI", "WARC-Payload-Digest"))
                if record.rec_type == "response":
                    bodies[digest] = record.content_stream().read()
                if record.rec_type in ("response", "revisit"):
                    answers.append((url, digest))
    return ((url, bodies[digest]) for url, digest in answers if digest in bodies)
