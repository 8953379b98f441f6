"""What a URL is, asked before anything is opened: told where it is known, and nothing is hindered where it is not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from archivebox.contract.discovery import BUNDLED
from tests.site.serve import Site

HOOK = BUNDLED / "precheck" / "on_Snapshot__01_precheck.py"


class Asked:
    """One run of the hook: its records, and the facts that it kept."""

    def __init__(self, folder: Path, url: str, **settings: str) -> None:
        done = subprocess.run(
            [sys.executable, str(HOOK), f"--url={url}", "--snapshot-id=s1"],
            cwd=folder,
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(BUNDLED.parents[1]), **settings},
            capture_output=True,
            text=True,
            check=False,
        )
        self.code, self.stderr = done.returncode, done.stderr
        records: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
        self.patches = [record for record in records if record["type"] == "Snapshot"]
        self.status, self.sentence = records[-1]["status"], records[-1]["output_str"]
        file = folder / "precheck.json"
        self.facts = json.loads(file.read_text()) if file.is_file() else {}


def test_facts_come_by_head_through_redirects_and_the_type_is_told(site: Site, tmp_path: Path) -> None:
    site.forget()
    asked = Asked(tmp_path, site.url_for("/redirect"))
    assert (asked.code, asked.status) == (0, "succeeded"), asked.stderr
    assert asked.patches == [{"type": "Snapshot", "id": "s1", "mime_type": "text/html"}]
    assert asked.facts["final_url"] == site.url_for("/article")
    assert asked.sentence == f"200 text/html, {asked.facts['size'] / 1000:.1f} KB"
    assert {hit.method for hit in site.requests} == {"HEAD"}, "no body was sent"


def test_where_head_is_refused_one_byte_is_asked_for(site: Site, tmp_path: Path) -> None:
    site.forget()
    asked = Asked(tmp_path, site.url_for("/no-head"))
    assert asked.facts["status"] == 200
    assert [hit.method for hit in site.requests] == ["HEAD", "GET"]
    assert site.requests[-1].headers["range"] == "bytes=0-0"


def test_what_is_no_success_is_a_fact_and_tells_nothing_of_the_page(site: Site, tmp_path: Path) -> None:
    asked = Asked(tmp_path, site.url_for("/404"))
    assert (asked.status, asked.patches) == ("succeeded", [])
    assert asked.sentence.startswith("404 text/html")


@pytest.mark.parametrize("path", ["/never", "/redirect-loop"])
def test_a_server_that_does_not_answer_fails_in_time(site: Site, tmp_path: Path, path: str) -> None:
    asked = Asked(tmp_path, site.url_for(path), PRECHECK_TIMEOUT="0.5")
    assert (asked.code, asked.patches) == (0, []), asked.stderr
    assert asked.status == "failed" or asked.facts


def test_nothing_is_fetched_but_by_http(tmp_path: Path) -> None:
    asked = Asked(tmp_path, "file:///etc/hostname")
    assert (asked.code, asked.status) == (0, "failed")
    assert "unknown url type" in asked.sentence
