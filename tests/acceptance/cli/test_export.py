"""What was archived is handed out in one file, by a command that waits for the job that writes it."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from fastwarc.warc import ArchiveIterator as FastIterator
from warcio.archiveiterator import ArchiveIterator

from tests.acceptance.cli.conftest import Type
from tests.site.serve import Site

pytestmark = pytest.mark.default


def received_by_warcio(path: Path) -> set[str]:
    """Addresses of the answers in a WARC, each with the body that its digest says."""
    found = set()
    with path.open("rb") as file:
        for record in ArchiveIterator(file, check_digests="raise"):
            record.raw_stream.read()  # all of a record is read, and then its digests are compared
            if record.rec_type == "response":
                assert record.digest_checker.passed, record.rec_headers
                found.add(record.rec_headers["WARC-Target-URI"])
    return found


def received_by_fastwarc(path: Path) -> set[str]:
    found = set()
    with path.open("rb") as file:
        for record in FastIterator(file):
            if record.headers["WARC-Type"] == "response":
                assert record.verify_payload_digest(), record.headers
                found.add(record.headers["WARC-Target-URI"].strip("<>"))  # as wget writes them
    return found


@pytest.mark.slow
def test_pages_are_exported_and_the_job_is_on_record(cli: Type, collection: Path, site: Site) -> None:
    urls = [site.url_for("/article"), site.url_for("/unicode")]
    given = {"PRIVATE_NETWORK_ALLOWLIST": "127.0.0.1", "WGET_SAVE_WARC": "true"}
    assert cli("add", "--plugins=wget,title", "--tag=fruit", *urls, **given).code == 0
    target = collection / "all.zip"
    done = cli("export", "#fruit", "--output", str(target))
    assert done.code == 0, done.err
    with zipfile.ZipFile(target) as archive:
        names = archive.namelist()
    assert sum("/wget/" in name for name in names) >= 2
    assert "index.html" in names

    recorded = collection / "all.warc.gz"
    assert cli("export", "#fruit", "--format=warc", "--output", str(recorded)).code == 0
    assert received_by_warcio(recorded) == received_by_fastwarc(recorded)
    assert set(urls) <= received_by_warcio(recorded)

    (table,) = cli("export", "article", "--format=jsonl").records
    lines = Path(str(table["file"])).read_text().splitlines()
    assert [json.loads(line)["url"] for line in lines] == urls[:1]
    assert [(job["kind"], job["done"], job["status"]) for job in cli("job", "list").records] == [
        ("export", 1, "sealed"),
        ("export", 2, "sealed"),
        ("export", 2, "sealed"),
    ]
    assert cli("job", "show", str(table["id"])).code == 0
    assert cli("job", "cancel", str(table["id"])).code == 2
    nothing = cli("export", "#no-such-tag", "--format=warc")
    assert (nothing.code, "no page matches" in nothing.err) == (1, True)
    assert "is not a key" in cli("export", "colour:red").err
    assert "/no/such is not a folder" in cli("export", "--output", "/no/such/all.zip").err
    assert cli("export", "article", "--format=csv", "--output=-").out.splitlines()[1].split(",")[3] == urls[0]
    assert cli("list", "--query", "#fruit title:*").code == 0
    assert cli("list", "--query", "-#fruit").records == []
