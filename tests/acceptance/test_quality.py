"""The quality of a page is measured from its capture on, as the command does for all."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.quality import archive, results
from tests.quality.__main__ import measure
from tests.quality.samples import chosen
from tests.site.serve import Site
from tests.webserver.browser import PROGRAM

pytestmark = [
    pytest.mark.browser,
    pytest.mark.once,
    pytest.mark.skipif(not PROGRAM, reason="there is no chromium here"),
]


def test_an_ordinary_page_is_kept_well_in_every_format(site: Site, tmp_path: Path) -> None:
    (sample,) = chosen(["/unicode"])
    data = tmp_path / "data"
    data.mkdir()
    archive.capture(data, site, [sample.path])
    measure(site, data, [sample], {}, with_pywb=False)
    found = results.load(tmp_path)[sample.path]
    assert [miss for miss in found.misses() if not miss.startswith("pdf")] == []  # which wants fonts of all scripts
    assert {name for name, score in found.scores.items() if score} >= {"picture", "pdf", "replay", "scripts"}
    judged = [score for name, score in found.scores.items() if score and name in {"picture", "replay", "scripts"}]
    assert [score.misses() for score in judged] == [[]] * 3
