"""Pages archived end to end, as a person types it, by a real Chromium."""

import json
import shutil
import signal
import sqlite3
import time
from collections import Counter
from pathlib import Path

import pytest
from PIL import Image
from warcio.archiveiterator import ArchiveIterator

from tests.acceptance.archive.conftest import PATIENCE, Home
from tests.site.serve import Site
from tests.status_triggers import PAUSE

pytestmark = pytest.mark.browser

BUNDLED = Path(__file__).parents[3] / "archivebox" / "plugins"
FORMATS = "title,dom,screenshot,pdf,headers,wget,hashes,parse_dom_outlinks"
COLOUR = (0xE7, 0x6F, 0x51)


def dominant_colour(picture: Path) -> tuple[int, int, int]:
    """The colour that most of the picture has."""
    with Image.open(picture) as image:
        small = image.convert("RGB").resize((64, 64), Image.Resampling.NEAREST)
        pixels = [small.getpixel((x, y)) for x in range(64) for y in range(64)]
    return Counter(pixels).most_common(1)[0][0]  # type: ignore[return-value]


@pytest.mark.default
def test_one_page_is_kept_as_it_looked(home: Home, site: Site) -> None:
    url = site.url_for("/colour")
    code, lines = home.type("add", "--plugins", FORMATS, url)
    folder = home.snapshots()[url]
    assert code == 0
    assert lines[-1]["type"] == "Summary"
    assert dominant_colour(folder / "screenshot" / "screenshot.png") == COLOUR
    assert "ARCHIVED" in (folder / "dom" / "output.html").read_text()
    assert (folder / "pdf" / "output.pdf").read_bytes().startswith(b"%PDF")
    assert json.loads((folder / "headers" / "headers.json").read_text())
    assert [row["title"] for row in home.rows("SELECT title FROM core_snapshot")] == ["Colour"]
    assert home.wait_until_nothing_runs() == set()


def test_programs_are_not_looked_for_before_a_page_is_known_to_need_them(home: Home, site: Site) -> None:
    code, _ = home.type("add", "--plugins", "precheck,robots,favicon,title", site.url_for("/article"))
    assert code == 0
    results = home.rows("SELECT hook_name, status, attempts FROM core_archiveresult WHERE status != 'skipped'")
    assert {row["hook_name"]: row["attempts"] for row in results if row["attempts"] != 1} == {}
    icon = next(row for row in results if "favicon" in row["hook_name"])
    assert icon["status"] == "succeeded"


def test_a_crawl_follows_links_and_every_process_of_it_is_on_record(home: Home, site: Site) -> None:
    home.env["WGET_SAVE_WARC"] = "true"
    code, _ = home.type("add", "--depth=1", "--plugins", FORMATS, site.url_for("/tree/"))
    snapshots = home.snapshots()
    assert code == 0
    assert {row["status"] for row in home.rows("SELECT status FROM core_snapshot")} == {"sealed"}
    assert len([url for url in snapshots if url.startswith(site.url_for("/tree/"))]) > 3
    for url, folder in snapshots.items():
        assert (folder / "dom" / "output.html").stat().st_size > 0, url
        assert (folder / "screenshot" / "screenshot.png").stat().st_size > 0, url
        assert responses_in(folder / "wget" / "warc"), url
    rows = {row["id"]: row for row in home.rows("SELECT * FROM machine_process")}
    for row in rows.values():
        assert row["status"] == "exited", dict(row)
        assert row["exit_code"] is not None, dict(row)
    types = {row["process_type"] for row in rows.values()}
    assert types == {"cli", "orchestrator", "worker", "hook", "binary"}
    for row in rows.values():
        if row["process_type"] == "hook":
            assert lineage(rows, row["id"]) == ["hook", "worker", "orchestrator", "cli"]
    assert home.wait_until_nothing_runs() == set()


def responses_in(folder: Path) -> int:
    """Response records of the WARC files in a folder."""
    count = 0
    for path in folder.glob("*.warc.gz"):
        with path.open("rb") as stream:
            count += sum(record.rec_type == "response" for record in ArchiveIterator(stream))
    return count


def lineage(rows: "dict[str, sqlite3.Row]", key: str) -> list[str]:
    """Types from a process up to its root."""
    types = []
    while key in rows:
        types.append(rows[key]["process_type"])
        key = rows[key]["parent_id"]
    return types


@pytest.mark.default
def test_killed_between_navigation_and_screenshot_one_start_makes_the_same_picture(home: Home, site: Site) -> None:
    plain, killed = site.url_for("/colour"), site.url_for("/colour?again=1")
    assert home.type("add", "--plugins", "dom,screenshot", plain)[0] == 0
    process = home.start("add", "--plugins", "dom,screenshot", killed)
    wait_for_navigation(home, killed)
    process.send_signal(signal.SIGSTOP)
    home.kill_everything()
    process.kill()
    process.communicate()
    code, _ = home.type("run")
    pictures = {url: folder / "screenshot" / "screenshot.png" for url, folder in home.snapshots().items()}
    texts = {url: (folder / "dom" / "output.html").read_text() for url, folder in home.snapshots().items()}
    assert code == 0
    assert dominant_colour(pictures[killed]) == dominant_colour(pictures[plain]) == COLOUR
    assert texts[killed] == texts[plain]
    assert home.wait_until_nothing_runs() == set()


def wait_for_navigation(home: Home, url: str) -> None:
    """Until the page is there, at the latest until its screenshot is being taken."""
    deadline = time.monotonic() + PATIENCE
    query = (
        "SELECT r.status FROM core_archiveresult r JOIN core_snapshot s ON s.id = r.snapshot_id "
        f"WHERE r.plugin = 'chrome' AND r.hook_name LIKE '%navigate%' AND s.url = '{url}'"
    )
    while time.monotonic() < deadline:
        if [row["status"] for row in home.rows(query)] == ["succeeded"]:
            return
        time.sleep(0.01)
    pytest.fail("the page was never reached")


def test_a_screenshot_of_a_sealed_page_is_taken_again_of_the_page_and_not_of_nothing(home: Home, site: Site) -> None:
    url = site.url_for("/colour")
    assert home.type("add", "--plugins", "screenshot", url)[0] == 0
    picture = home.snapshots()[url] / "screenshot" / "screenshot.png"
    picture.unlink()
    statement = "UPDATE core_archiveresult SET status = 'failed', reason = 'timeout' WHERE plugin = 'screenshot'"
    for line in (f"INSERT INTO {PAUSE} VALUES (1)", statement, f"DELETE FROM {PAUSE}"):
        home.rows(line)
    code, _ = home.type("update", "--all")
    assert code == 0
    assert dominant_colour(picture) == COLOUR
    assert home.wait_until_nothing_runs() == set()


def test_a_copied_and_changed_plugin_works_in_place_of_the_bundled_one(home: Home, site: Site) -> None:
    copy = home.data / "plugins" / "htmltotext"
    shutil.copytree(BUNDLED / "htmltotext", copy, ignore=shutil.ignore_patterns("__pycache__"))
    with (copy / "xml_text.py").open("a") as helper:
        helper.write('\n\ndef xml_to_text(source: str) -> str:\n    return "changed in the copy"\n')
    url = site.url_for("/colour")
    code, _ = home.type("add", "--plugins", "wget,htmltotext", url)
    assert code == 0
    kept = home.snapshots()[url] / "htmltotext"
    assert [path.read_text().strip() for path in kept.iterdir()] == ["changed in the copy"]
