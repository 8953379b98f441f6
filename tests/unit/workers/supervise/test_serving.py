"""Where the server of this collection is, is known while it runs; the next one waits for its end."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from archivebox.lib.addresses import ListenAddress
from archivebox.storage.layout import DataFolder
from archivebox.workers.supervise import serving
from archivebox.workers.supervise.supervisord_conf import conf_text

APP, PAGES = ListenAddress("::1", 8000), ListenAddress("0.0.0.0", 8001)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DataFolder:
    folder = DataFolder(tmp_path)
    folder.run.mkdir()
    monkeypatch.setattr(serving, "DATA_FOLDER", folder)
    return folder


@pytest.fixture
def supervisord(folder: DataFolder) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is called like the folder's."""
    folder.supervisord_conf.write_text(conf_text(APP, PAGES, socket_path=""))
    process = subprocess.Popen(
        [sys.executable, "-c", "input()", "-c", str(folder.supervisord_conf)], stdin=subprocess.PIPE
    )
    folder.supervisord_pid.write_text(f"{process.pid}\n")
    yield process
    process.kill()
    process.communicate()


def test_the_next_server_waits_for_the_end_of_the_one_before_and_says_so(
    supervisord: subprocess.Popen[bytes],
) -> None:
    assert serving.served_at() == (APP, PAGES)
    said: list[str] = []

    def told(line: str) -> None:
        said.append(line)
        supervisord.kill()
        supervisord.communicate()

    assert serving.wait_for_end(told)
    assert said == ["The server of this collection still runs at http://[::1]:8000. Waiting up to 20 s for its end."]
    assert serving.wait_for_end(said.append)
    assert len(said) == 1


@pytest.mark.usefixtures("supervisord")
def test_one_that_does_not_end_is_not_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "ENDING", 0.0)
    assert not serving.wait_for_end(str)


@pytest.mark.usefixtures("supervisord")
def test_for_the_end_of_one_that_goes_on_serving_nobody_waits(
    folder: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "ENDING", 600.0)
    with socket.create_server(("127.0.0.1", 0)) as web:
        conf = conf_text(ListenAddress("127.0.0.1", web.getsockname()[1]), PAGES, socket_path="")
        folder.supervisord_conf.write_text(conf)
        assert not serving.wait_for_end(str)


def test_the_number_of_one_that_was_killed_is_nobodys_server(folder: DataFolder) -> None:
    folder.supervisord_conf.write_text(conf_text(APP, PAGES, socket_path=""))
    folder.supervisord_pid.write_text(f"{os.getpid()}\n")
    assert serving.served_at() == ()
