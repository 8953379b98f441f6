"""A large document is kept whole by all that is on by default, with the deadlines that are on by default."""

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from tests.acceptance.archive.conftest import Home
from tests.programs import Programs
from tests.site.serve import Site

pytestmark = [pytest.mark.browser, pytest.mark.slow]

TEXTS = ("dom", "title", "htmltotext", "readability", "defuddle", "article")
PICTURES = ("singlefile", "screenshot", "pdf")


def words_of_html(page: Path) -> Counter[str]:
    body = page.read_text().partition("<body")[2].partition(">")[2]
    return Counter(re.sub(r"<[^>]*>", " ", body).split())


def words_of_pdf(pdf: Path) -> Counter[str]:
    done = subprocess.run(["pdftotext", pdf, "-"], stdout=subprocess.PIPE, text=True, check=True)
    return Counter(done.stdout.split())


def test_a_document_of_3_mb_is_kept_whole_in_every_format(home: Home, site: Site, programs: Programs) -> None:
    for plugin in ("singlefile", "readability", "defuddle"):
        programs.install(plugin)
    home.env |= programs.environment
    url = site.url_for("/large.html?mb=3")
    code, _ = home.type("add", url)
    results = {row["plugin"]: row for row in home.rows("SELECT * FROM core_archiveresult")}
    folder = home.snapshots()[url]
    assert code == 0
    assert [dict(row) for row in results.values() if row["status"] in {"failed", "backoff"}] == []
    assert {name: results[name]["status"] for name in (*TEXTS, *PICTURES)} == dict.fromkeys(
        (*TEXTS, *PICTURES), "succeeded"
    )
    words = words_of_html(folder / "dom" / "output.html")
    assert words.total() > 400_000
    assert words - words_of_pdf(folder / "pdf" / "output.pdf") == Counter()
    assert words - words_of_html(folder / "singlefile" / "singlefile.html") == Counter()
