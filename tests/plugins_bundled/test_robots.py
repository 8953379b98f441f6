"""robots.txt is asked for once a site in each crawl, and decides about the pages of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from archivebox.contract.discovery import BUNDLED
from archivebox.plugins.robots.rules import is_allowed
from tests.site.serve import Site

HOOK = BUNDLED / "robots" / "on_Snapshot__00_robots.py"


def ask(crawl: Path, url: str, **settings: str) -> dict[str, Any]:
    """What the hook says of a page of a crawl."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(BUNDLED.parents[1]), "CRAWL_DIR": str(crawl)}
    done = subprocess.run(
        [sys.executable, str(HOOK), f"--url={url}"],
        cwd=crawl, env=environment | settings, capture_output=True, text=True, check=False,
    )  # fmt: skip
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def test_a_site_is_asked_once_a_crawl_and_its_wish_is_told(site: Site, tmp_path: Path) -> None:
    site.forget()
    said = [ask(tmp_path, site.url_for(path)) for path in ("/article", "/noindex", "/private/x", "/colour?a=1")]
    assert [one["status"] for one in said] == ["succeeded", "failed", "failed", "succeeded"]
    assert said[1]["output_str"] == "robots.txt asks ArchiveBox to leave this page alone"
    assert [(hit.path, "ArchiveBox" in hit.headers["user-agent"]) for hit in site.requests] == [("/robots.txt", True)]


def test_a_site_that_does_not_answer_is_left_alone_for_now(tmp_path: Path) -> None:
    said = ask(tmp_path, "http://127.0.0.1:9/page", ROBOTS_TIMEOUT="1")
    assert (said["status"], said["retry"]) == ("failed", "later")


@pytest.mark.parametrize(("status", "allowed"), [(200, False), (404, True), (403, True), (503, False)])
def test_no_robots_txt_allows_everything_and_a_broken_one_nothing(status: int, *, allowed: bool) -> None:
    assert is_allowed(status, "User-agent: archivebox\nDisallow: /", "http://a.test/x", "ArchiveBox") is allowed
    assert is_allowed(status, "User-agent: other\nDisallow: /", "http://a.test/x", "ArchiveBox") is (status != 503)
