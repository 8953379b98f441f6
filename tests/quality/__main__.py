"""``python -m tests.quality [--keep FOLDER] [PART…]``: how well pages are kept, as a table.

Without arguments all pages are archived and compared, and docs/quality.md is written. Parts choose pages by their
paths. FOLDER keeps the archive, the pictures that were compared and what was measured: pages measured again
(``--no-capture``: as they are there) take their places in the table, which is written to docs/quality.md once it has
all pages.
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.quality import archive, results, table
from tests.quality.eyes import FLAGS
from tests.quality.measure import Measure, Measured, application
from tests.quality.pywb import NotInstalledError, Read, Readers, installed
from tests.quality.samples import SAMPLES, Sample, chosen
from tests.site.serve import Site
from tests.webserver.browser import PROGRAM, Browser
from tests.webserver.server import CHECKOUT

PAGE = CHECKOUT / "docs" / "quality.md"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser("python -m tests.quality", description="Measure how well pages are kept.")
    parser.add_argument("parts", nargs="*", metavar="part", help="pages whose path has this in it; all without")
    parser.add_argument("--keep", type=Path, help="an empty folder for the archive; else it is thrown away")
    parser.add_argument("--port", type=int, default=0, help="of the local web; needed with a kept archive")
    parser.add_argument("--no-capture", action="store_true", help="measure the archive that --keep has")
    parser.add_argument("--no-pywb", action="store_true", help="leave the column of pywb out")
    given = parser.parse_args(arguments)
    samples = chosen(given.parts)
    with contextlib.ExitStack() as stack:
        folder = given.keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="quality-")))
        site = stack.enter_context(Site(port=given.port))
        data = folder / "data"
        data.mkdir(parents=True, exist_ok=True)
        if not given.no_capture:
            print(f"archiving {len(samples)} pages", file=sys.stderr, flush=True)
            archive.capture(data, site, (one.path for one in samples))
        before = results.load(folder)
        measured, read, sentence = measure(site, data, samples, before, with_pywb=not given.no_pywb)
    text = table.page(measured, read, version(), sentence)
    print(text)
    if len(measured) == len(SAMPLES):
        PAGE.write_text(text)
    return 1 if table.defects(measured) or table.behind(measured) else 0


def measure(
    site: Site, data: Path, samples: Sequence[Sample], before: Mapping[str, Measured], *, with_pywb: bool
) -> tuple[list[Measured], list[Read], str]:
    """What was measured of each page, now or before, of each WARC file, and why there is no pywb, if so."""
    pages = archive.captured(data)
    warcs = sorted(path for page in pages.values() for path in page.root.glob("warc/*.warc.gz"))
    readers, sentence = _readers(with_pywb=with_pywb)
    read = readers.read(warcs) if readers else []
    found = dict(before)
    with contextlib.ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="quality-pywb-")))
        replayer = stack.enter_context(readers.replaying(place / "pywb", warcs)) if readers else None
        server = stack.enter_context(archive.serve(data))
        print("waiting for the program's own scores", file=sys.stderr, flush=True)
        pages = archive.scored(data)  # they decide what is opened first
        browser = stack.enter_context(Browser(*FLAGS))
        app = stack.enter_context(application(browser, server))
        one = Measure(browser, site, server, app, replayer, data.parent / "pictures")
        for sample in samples:
            found[sample.path] = one.of(sample, pages[sample.path])
            print(table.rows([found[sample.path]])[-1], file=sys.stderr, flush=True)
            results.save(data.parent, found.values())
    return results.in_order(found), read, sentence


def _readers(*, with_pywb: bool) -> tuple[Readers | None, str]:
    if not with_pywb:
        return None, "pywb was left out."
    try:
        return installed(), ""
    except NotInstalledError as problem:
        return None, f"pywb was left out: {problem}"


def version() -> str:
    said = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=False).stdout.split()
    return " ".join(said[:2])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
