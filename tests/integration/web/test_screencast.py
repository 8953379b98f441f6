"""Who looks at a crawl is shown what its browser shows, by one connection for all, which ends with the last of them."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.webserver.events import Events
from tests.webserver.fixtures import Library
from tests.webserver.server import in_collection

pytestmark = pytest.mark.once

FOLDER = "import sys; from archivebox.crawls.models import Crawl; print(Crawl.objects.get(pk=sys.argv[1]).path)"


@pytest.fixture(scope="module")
def library(shared_library: Library) -> Library:
    return shared_library


@pytest.fixture
def hook(library: Library, tmp_path: Path) -> Iterator[socket.socket]:
    """Where the crawl's browser hook lets viewers in."""
    folder = Path(in_collection(library.server.folder, FOLDER, library.crawl)) / "chrome"
    folder.mkdir(parents=True, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.settimeout(60)
        listener.bind(str(tmp_path / "s"))
        listener.listen()
        (folder / "session.json").write_text(json.dumps({"screencast": str(tmp_path / "s")}))
        yield listener
        (folder / "session.json").unlink()


@contextmanager
def looked_at(hook: socket.socket) -> Iterator[socket.socket]:
    """The connection of the web server."""
    with hook.accept()[0] as stream:
        stream.settimeout(60)
        yield stream


def show(stream: socket.socket, page: str, picture: str | None) -> None:
    stream.sendall(json.dumps({"snapshot": page, "picture": picture}).encode() + b"\0")


def test_nobody_without_a_log_in_sees_pictures_and_there_are_none_of_no_crawl(library: Library) -> None:
    answer = library.stranger().get(f"/crawls/{library.crawl}/screencast/")
    assert (answer.status, answer.headers["location"][:7]) == (302, "/login/")
    assert library.visitor.get(f"/crawls/{library.snapshot}/screencast/").status == 404


def test_all_who_look_share_one_connection_that_ends_with_the_last_of_them(
    library: Library, hook: socket.socket
) -> None:
    path = f"/crawls/{library.crawl}/screencast/"
    with Events(library.visitor, path=path) as first:
        with looked_at(hook) as stream:
            show(stream, "one", "abc")
            while (said := first.next())["open"] == []:
                pass
            assert said == {"open": ["one"], "pictures": {"one": "abc"}}
            with Events(library.visitor, path=path) as second:
                assert second.next() == {"open": ["one"], "pictures": {"one": "abc"}}
                show(stream, "two", "def")
                assert first.next() == second.next() == {"open": ["one", "two"], "pictures": {"two": "def"}}
            show(stream, "one", None)
            assert first.next() == {"open": ["two"], "pictures": {}}
        assert first.next() == {"open": [], "pictures": {}}, "the browser has ended"
        with looked_at(hook) as stream:  # and there is another
            first.socket.close()
            first._file.close()
            assert stream.recv(1) == b"", "nobody looks any more"


def test_eight_tabs_are_shown_beside_each_other_each_by_its_newest_picture(
    library: Library, hook: socket.socket
) -> None:
    newest = {f"tab {number}": f"new {number}" for number in range(8)}
    with Events(library.visitor, path=f"/crawls/{library.crawl}/screencast/") as viewer, looked_at(hook) as stream:
        for picture in (dict.fromkeys(newest, "old"), newest):
            for tab, jpeg in picture.items():
                show(stream, tab, jpeg)
        seen: dict[str, str] = {}
        while seen != newest:
            said = viewer.next()
            seen |= said["pictures"]
        assert said["open"] == list(newest)
