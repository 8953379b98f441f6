"""`archivebox import` shows what it found, imports it when told to, and says what came of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest

from tests import older
from tests.acceptance.cli.conftest import Type, environment, typist
from tests.empty import make_empty
from tests.old_collection import make_old_collection


@pytest.mark.default
@pytest.mark.usefixtures("collection")
def test_an_old_collection_is_shown_imported_and_found(cli: Type, tmp_path: Path) -> None:
    source = make_old_collection(tmp_path / "old")
    before = older.digest(source)
    for words in (["--dry-run"], []):
        shown = cli("import", str(source), *words)
        assert (shown.code, shown.record["pages"]) == (0, 2)
        assert "Nothing was imported." in shown.err
    done = cli("import", str(source), "--yes")
    assert done.code == 0, done.err
    assert (done.records[-1]["status"], done.records[-1]["done"], done.records[-1]["failed"]) == ("sealed", 2, 0)
    assert "outside: It is a symbolic link." in done.err
    assert {row["title"] for row in cli("search", "quince").records} == {"Pear", ""}
    assert older.digest(source) == before


@pytest.mark.once
@pytest.mark.usefixtures("collection")
@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_before_anything_was_accepted_names_nothing_to_continue(signum: signal.Signals, tmp_path: Path) -> None:
    """At the question, which only a terminal gets."""
    words = [sys.executable, "-m", "archivebox", "import", str(make_old_collection(tmp_path / "old"))]
    terminal, its_end = os.openpty()
    with closing(os.fdopen(terminal, "rb", buffering=0)) as shown:
        importing = subprocess.Popen(
            words, cwd=tmp_path, env=environment(tmp_path), stdin=its_end, stdout=its_end, stderr=subprocess.PIPE
        )
        os.close(its_end)
        seen = b""
        while b"[y/N]" not in seen:
            seen += shown.read(65536)
        importing.send_signal(signum)
        _, err = importing.communicate(timeout=100)
    assert importing.returncode == 128 + signum
    assert err.decode().splitlines()[-1:] == ["Stopped. Nothing was imported."]


@pytest.mark.usefixtures("collection")
def test_an_import_that_was_begun_before_goes_on(cli: Type, tmp_path: Path) -> None:
    source = make_old_collection(tmp_path / "old")
    job = str(cli("import", str(source), "--yes", "--bg").records[-1]["id"])
    assert cli("job", "pause", job).code == 0
    refused = cli("import", str(source), "--yes")
    assert (refused.code, f"`archivebox job resume {job}` continues it." in refused.err) == (2, True)
    assert cli("job", "resume", job).code == 0
    done = cli("import", str(source), "--yes")
    assert "Its import was begun before, with --mode copy: it goes on." in done.err
    assert (done.code, done.records[-1]["id"], done.records[-1]["done"]) == (0, job, 2)


@pytest.mark.usefixtures("collection")
def test_what_cannot_be_imported_ends_with_2_and_a_sentence(cli: Type, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for path, said in (("empty", "is nothing that can be imported"), ("absent", "Nothing was found at")):
        done = cli("import", str(tmp_path / path), "--yes")
        assert (done.code, done.out) == (2, "")
        assert said in done.err


def test_inside_of_an_older_archive_its_import_is_named(cli: Type, tmp_path: Path) -> None:
    source = make_old_collection(tmp_path / "old")
    assert f"`archivebox --data-dir FOLDER import {source}`" in cli("status", cwd=source).err


@pytest.mark.default
@pytest.mark.database
@pytest.mark.usefixtures("collection")
def test_what_one_collection_exports_another_imports_whole(cli: Type, tmp_path: Path) -> None:
    assert cli("import", str(make_old_collection(tmp_path / "old")), "--yes").code == 0
    path = tmp_path / "all.archivebox.zip"
    assert cli("export", "--all", "--format=archivebox", "--output", str(path)).code == 0
    make_empty(tmp_path / "other" / "data")
    other = typist(tmp_path / "other")
    done = other("import", str(path), "--yes")
    assert done.code == 0, done.err
    assert pages_of(other) == pages_of(cli)
    assert len(pages_of(cli)) == 2
    assert content_of(tmp_path / "other" / "data" / "users") == content_of(tmp_path / "data" / "users") != {}


def pages_of(cli: Type) -> list[dict[str, object]]:
    return [record | {"modified_at": ""} for record in cli("list").records]


def content_of(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): sha256(path.read_bytes()).hexdigest() for path in files}
