"""Another plugin `responses`, which stands in the place of ours: its recording is read by nobody, and breaks nobody."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PLUGINS = Path(__file__).parents[3] / "archivebox" / "plugins"
ENTRY = {
    "ts": "2026-11-23T15:00:00.000", "method": "GET", "url": "http://site.test/", "status": 200,
    "resourceType": "document", "mimeType": "text/html", "urlSha256": "ab", "responseSha256": "cd", "path": "./x.html",
}  # fmt: skip
"""A line as the plugin of an earlier ArchiveBox writes it."""


def run(plugin: str, snapshot: Path, **env: str) -> tuple[int, str, str]:
    (hook,) = (PLUGINS / plugin).glob("on_Snapshot__*.py")
    folder = snapshot / plugin
    folder.mkdir(parents=True)
    recorded = snapshot / "responses"
    recorded.mkdir()
    (recorded / "index.jsonl").write_text(f"{json.dumps(ENTRY)}\n[1]\nno JSON\n")
    done = subprocess.run(
        [sys.executable, str(hook), "--url=http://site.test/", "--snapshot-id=x", "--crawl-id=y", "--depth=0"],
        cwd=folder, env={"PATH": os.environ["PATH"], **env}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("plugin", ["warc", "dns", "ssl", "headers", "redirects"])
def test_hooks_that_read_the_recording_alone_are_skipped_and_say_why(plugin: str, tmp_path: Path) -> None:
    code, out, err = run(plugin, tmp_path)
    assert "Traceback" not in err
    record = json.loads(out.splitlines()[-1])
    assert (code, record["status"]) == (10, "skipped"), err
    assert "responses is another than ArchiveBox's" in record["output_str"]


def test_they_are_skipped_where_no_plugin_says_that_it_records(tmp_path: Path) -> None:
    code, out, err = run("warc", tmp_path, RECORDING_PLUGIN="")
    record = json.loads(out.splitlines()[-1])
    assert (code, record["status"]) == (10, "skipped"), err
    assert "the role recording" in record["output_str"]


def test_the_plugin_that_records_is_found_by_its_role(tmp_path: Path) -> None:
    entry = {
        "session": "s", "url": "http://site.test/", "method": "GET", "status": 200, "mime": "text/html", "main": True,
        "time": "2026-11-23T15:00:00Z", "request_headers": {}, "response_headers": {"server": "mine"},
    }  # fmt: skip
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "index.jsonl").write_text(json.dumps(entry) + "\n")
    code, out, err = run("headers", tmp_path, RECORDING_PLUGIN="mine")
    record = json.loads(out.splitlines()[-1])
    assert (code, record["status"]) == (0, "succeeded"), err
    assert json.loads((tmp_path / "headers" / record["output_str"]).read_text())["response"]["headers"] == {
        "server": "mine"
    }


def test_headers_are_looked_for_again_where_the_page_broke_off_before_its_answer(tmp_path: Path) -> None:
    entry = {"session": "s", "url": "http://site.test/", "method": "GET", "status": 0, "error": "net::ERR_FAILED"}
    entry |= {"main": True, "time": "2026-11-23T15:00:00Z", "request_headers": {}}
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "index.jsonl").write_text(json.dumps(entry) + "\n")
    _, out, err = run("headers", tmp_path, RECORDING_PLUGIN="mine")
    record = json.loads(out.splitlines()[-1])
    assert (record["status"], record["retry"]) == ("failed", "later"), err


@pytest.mark.parametrize(
    "plugin", ["trafilatura", "htmltotext", "parse_html_urls", "parse_txt_urls", "parse_rss_urls", "quality"]
)
def test_hooks_that_read_other_files_too_do_without(plugin: str, tmp_path: Path) -> None:
    _, out, err = run(plugin, tmp_path)
    assert "Traceback" not in err
    record = json.loads(out.splitlines()[-1])
    assert record["status"] in {"noresults", "skipped"}
