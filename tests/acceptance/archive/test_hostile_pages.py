"""Pages that do not want to be archived, all at once beside good ones: each costs itself what it may, and no other."""

from pathlib import Path

import pytest

from tests.acceptance.archive.conftest import Home
from tests.acceptance.archive.test_pages import dominant_colour
from tests.site.serve import Site

pytestmark = pytest.mark.browser

PLUGINS = ("title", "dom", "screenshot", "pdf")
SOME_WITHOUT_SUCCESS = 3
PAGELOAD_TIMEOUT = 5  # seconds: what a good page has on a machine busy with the whole suite
LIMITS = {
    "CHROME_PAGELOAD_TIMEOUT": str(PAGELOAD_TIMEOUT),
    "CHROME_SETTLE_MAX": "2",
    "CHROME_MEMORY_MAX": "1500",
    "PDF_TIMEOUT": "4",
}
STOPPED = f"(stopped: still loading after {PAGELOAD_TIMEOUT} s)"
HOSTILE = {  # path: what its navigation says
    "/huge.html": "200 {}",
    "/huge.html?mb=120": "200 {}",
    "/long-print": "200 {}",
    "/never": f"the server did not answer within {PAGELOAD_TIMEOUT} s",
    "/trickle": f"the server sent nothing readable: still loading after {PAGELOAD_TIMEOUT} s",
    "/torn": "200 {} (stopped: only a part of the page came: the server broke the connection off",
    "/redirect-loop": "it redirects in circles (net::ERR_TOO_MANY_REDIRECTS)",
    "/refresh-loop": "200 {} (stopped: ",  # sent itself elsewhere, or still loading on a slow machine
    "/reload": "200 {}",
    "/stall": f"200 {{}} {STOPPED}",
    "/blocked-parser": f"200 {{}} {STOPPED}",
    "/busy": "200 {}",
    "/confirm-loop": "200 {}",
    "/popup": "200 {}",
    "/huge.bin?mb=20": "200 {}",
    "/file.pdf": "200 {}",
    "/buffers": "",
}
GOOD = ("/colour", "/red", "/green", "/article", "/unicode", "/tall", "/csp", "/iframe")
COLOURS = {"/red": (255, 0, 0), "/green": (0, 255, 0)}
KEPT_ALL_THE_SAME = ("/stall", "/blocked-parser", "/busy", "/confirm-loop", "/popup", "/huge.html", "/huge.html?mb=120")


def results(home: Home) -> dict[str, dict[str, tuple[str, str, str]]]:
    """URL → what a hook does → status, reason and words of its result."""
    found: dict[str, dict[str, tuple[str, str, str]]] = {}
    for row in home.rows(
        "SELECT url, hook_name, result.status, result.reason, output_str FROM core_archiveresult result"
        " JOIN core_snapshot snapshot ON snapshot.id = snapshot_id"
    ):
        what = Path(row["hook_name"]).name.partition("__")[2][3:].partition(".")[0]
        found.setdefault(row["url"], {})[what] = (row["status"], row["reason"], row["output_str"])
    return found


def failures(said: dict[str, dict[str, tuple[str, str, str]]]) -> str:
    """What did not succeed, a line each."""
    rows = ((url, what, *result) for url, of_page in said.items() for what, result in of_page.items())
    return "\n".join(" ".join(row) for row in rows if row[2] != "succeeded")


def test_no_page_however_hostile_costs_another_anything(home: Home, site: Site) -> None:
    settings = [word for name, value in LIMITS.items() for word in ("--config", f"{name}={value}")]
    urls = [site.url_for(path) for pair in zip(HOSTILE, GOOD, strict=False) for path in pair]
    urls += [site.url_for(path) for path in HOSTILE if site.url_for(path) not in urls]
    code, lines = home.type("add", "--plugins", ",".join(PLUGINS), *settings, *urls)
    assert {row["status"] for row in home.rows("SELECT status FROM core_snapshot")} == {"sealed"}
    assert home.wait_until_nothing_runs() == set()
    said, folders = results(home), home.snapshots()

    for path in GOOD:
        of_page = said[site.url_for(path)]
        assert {of_page[plugin][0] for plugin in PLUGINS} == {"succeeded"}, (path, of_page)
        assert of_page["navigate"][2] == f"200 {site.url_for(path)}"
    for path, colour in COLOURS.items():
        assert dominant_colour(folders[site.url_for(path)] / "screenshot" / "screenshot.png") == colour

    for path, words in HOSTILE.items():
        of_page = said[site.url_for(path)]
        assert of_page["navigate"][2].startswith(words.format(site.url_for(path))), (path, of_page)
        assert {status for status, _, _ in of_page.values()} <= {"succeeded", "failed", "skipped", "backoff"}
        assert not [reason for _, reason, _ in of_page.values() if reason.startswith(("crashed", "timeout"))], of_page
    never_came = [words for words in HOSTILE.values() if not words.startswith("200")]
    assert (code, lines[-1]["without_success"]) == (SOME_WITHOUT_SUCCESS, len(never_came)), failures(said)
    for path in KEPT_ALL_THE_SAME:
        assert said[site.url_for(path)]["dom"][0] == "succeeded", (path, said[site.url_for(path)])

    assert said[site.url_for("/buffers")]["chrome_tab"][2].startswith("the page was ended: it took more memory")
    assert {said[site.url_for("/buffers")][hook][:2] for hook in ("navigate", *PLUGINS)} == {("failed", "page_gone")}
    assert said[site.url_for("/long-print")]["pdf"][2].lower().startswith("the page is too much for the browser")
    assert {said[site.url_for("/long-print")][plugin][0] for plugin in PLUGINS[:3]} == {"succeeded"}
