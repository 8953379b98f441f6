"""What was archived is handed out in one file, by a command that waits for the job that writes it."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from tests.acceptance.cli.conftest import Type
from tests.site.serve import Site


@pytest.mark.database
def test_pages_are_exported_and_the_job_is_on_record(cli: Type, collection: Path, site: Site) -> None:
    urls = [site.url_for("/article"), site.url_for("/unicode")]
    assert cli("add", "--plugins=wget,title", "--tag=fruit", *urls, PRIVATE_NETWORK_ALLOWLIST="127.0.0.1").code == 0
    target = collection / "all.zip"
    done = cli("export", "#fruit", "--output", str(target))
    assert done.code == 0, done.err
    with zipfile.ZipFile(target) as archive:
        names = archive.namelist()
    assert sum("/wget/" in name for name in names) >= 2
    assert "index.html" in names

    (table,) = cli("export", "article", "--format=jsonl").records
    lines = Path(str(table["file"])).read_text().splitlines()
    assert [json.loads(line)["url"] for line in lines] == urls[:1]
    assert [(job["kind"], job["done"], job["status"]) for job in cli("job", "list").records] == [
        ("export", 1, "sealed"),
        ("export", 2, "sealed"),
    ]
    assert cli("job", "show", str(table["id"])).code == 0
    assert cli("job", "cancel", str(table["id"])).code == 2
    assert "is no key" in cli("export", "colour:red").err
    assert cli("list", "--query", "#fruit title:*").code == 0
    assert cli("list", "--query", "-#fruit").records == []
