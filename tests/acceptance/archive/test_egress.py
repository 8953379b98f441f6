"""A real browser goes out by the proxy of its crawl, and what that refuses is no page."""

import json

import pytest

from tests.acceptance.archive.conftest import Home
from tests.site.serve import Site

pytestmark = pytest.mark.browser


def test_a_page_reaches_no_other_place_of_this_machine(home: Home, site: Site) -> None:
    home.env["PRIVATE_NETWORK_ALLOWLIST"] = ""
    pages = (site.url_for(path) for path in ("/iframe", "/webrtc", "/redirect/elsewhere"))
    code, _ = home.type("add", "--plugins", "title,dom", *pages)
    assert code == 3  # of the page that led elsewhere nothing was kept
    hosts = {headers["host"].partition(":")[0] for _, _, headers in site.requests}
    assert hosts == {"127.0.0.1"}
    rows = home.rows(
        "SELECT s.url, r.status, r.output_str FROM core_archiveresult r JOIN core_snapshot s ON s.id = r.snapshot_id"
        " WHERE r.hook_name LIKE '%navigate%'"
    )
    navigated = {row["url"]: row for row in rows}
    assert navigated[site.url_for("/iframe")]["status"] == "succeeded"
    refused = navigated[site.url_for("/redirect/elsewhere")]
    assert refused["status"] == "failed"
    assert f"127.0.0.2:{site.port}: it is on a private network" in refused["output_str"]
    dom = next(home.snapshots()[site.url_for("/iframe")].glob("dom/*.html")).read_text()
    assert "private network" not in dom  # a refusal is no page in the place of the site's
    (row,) = home.rows("SELECT title FROM core_snapshot WHERE url LIKE '%/webrtc'")
    assert row["title"] == "Ways out: 0"
    log = next(home.data.glob("users/*/crawls/*/*/egress/connections.jsonl")).read_text().splitlines()
    places = {(line["event"], line["host"]) for line in map(json.loads, log)}
    assert places >= {("connected", "127.0.0.1"), ("closed", "127.0.0.1"), ("refused", "127.0.0.2")}
    assert {host for _, host in places} <= {"127.0.0.1", "127.0.0.2", "127.0.0.3", "nobody.invalid"}
