"""A collection on a disk that can only be read is read: nothing is written beside it, and what writes says why not."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.acceptance.cli.conftest import typist
from tests.integration.engine.disks import read_only

URL = "http://127.0.0.1:9/pears"


@pytest.mark.once  # what is asked is whether a SQLite file can be read where nothing can be made beside it
@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("mount"), reason="needs root and mount(8)")
def test_a_collection_that_can_only_be_read_is_listed_searched_and_exported(tmp_path: Path) -> None:
    cli, data = typist(tmp_path), tmp_path / "data"
    assert cli("add", "--plugins=hashes", URL).code == 0
    with read_only(data):
        assert [record["url"] for record in cli("list").records] == [URL]
        assert [record["url"] for record in cli("search", "pears").records] == [URL]
        exported = cli("export", "--all", "--format=csv", "-o", "-")
        assert URL in exported.out, exported
        assert cli("export", "--all", "--format=zip", "-o", "pages.zip").record["done"] == 1
        assert "name a file in another place with --output" in cli("export", "--all").err
        for words in (["add", URL], ["update", "--all"], ["remove", URL]):
            refused = cli(*words)
            assert (refused.code, "cannot be written to" in refused.err) == (2, True), (words, refused)
