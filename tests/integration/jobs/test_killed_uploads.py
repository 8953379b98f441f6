"""What an upload that was killed between files and rows has left is deleted, and nothing that has a row."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import connections

from archivebox.base_models.users import system_user
from archivebox.config.settings import DATA_FOLDER
from archivebox.core.models import Snapshot
from archivebox.imports.import_folder import Scratch
from archivebox.imports.upload import keep_upload

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("collection")]


def kill_own_process(_page: Snapshot | None = None) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def upload_and_die(noting: Callable[[Snapshot], object]) -> Path:
    """Keep a page in a process that dies; the folder of its files."""
    user, former = system_user(), set(DATA_FOLDER.users.rglob("singlefile.html"))
    connections.close_all()
    child = os.fork()
    if not child:
        keep_upload([b"<title>Apple</title>quince"], "https://a.example/", user, noting)
        kill_own_process()
    os.waitpid(child, 0)
    [file] = set(DATA_FOLDER.users.rglob("singlefile.html")) - former
    return file.parent.parent


def pass_time() -> None:
    for note in DATA_FOLDER.imports.glob("reading-*/writing"):
        os.utime(note, (time.time() - 3600,) * 2)


def test_files_of_an_upload_that_was_killed_before_its_rows_are_deleted() -> None:
    folder = upload_and_die(kill_own_process)
    assert not Snapshot.objects.exists()
    Scratch()
    assert folder.exists(), "the database may still commit what was sent last"
    pass_time()
    Scratch()
    assert not folder.exists()
    assert not list(DATA_FOLDER.imports.glob("reading-*/writing"))


def test_files_of_an_upload_that_was_killed_behind_its_rows_stay() -> None:
    folder = upload_and_die(lambda _page: None)
    pass_time()
    Scratch()
    assert (folder / "singlefile" / "singlefile.html").exists()
    assert Snapshot.objects.get().path == folder
