"""What a large archived page costs to show is bounded, and given back."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from tests.webserver.fixtures import Library, open_library
from tests.webserver.recording import Page, record
from tests.webserver.server import Answer

MEGABYTE = 1024 * 1024
LINE = b'<p class="line">One more <i title="of many">line</i> of a <b>long</b> page.</p>\n'
LARGE = b"<!doctype html><title>Large</title><a href=http://a.example/>Other</a>" + LINE * (5 * MEGABYTE // len(LINE))


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    for library in open_library(tmp_path_factory.mktemp("large")):
        record(Path(library.other_folder), {library.other_url: Page(LARGE)})
        copy = Path(library.other_folder) / "singlefile" / "singlefile.html"
        copy.parent.mkdir()
        copy.write_bytes(LARGE)
        yield library


def addresses(library: Library) -> tuple[str, str]:
    """The paths of the recorded page and of the plugin's copy."""
    page = library.visitor.get(f"/snapshots/{library.snapshot}/").text
    assert page
    shown = library.visitor.get(f"/snapshots/{library.other}/?view=replay").text
    found = re.search(r'http://[^/"]+(/[0-9a-f]{32}\.[^/"]+/)', shown)
    assert found, shown
    place = f"{found.group(1)}@http:127.0.0.1:{library.server.port}/20261122090000/"
    return place + library.other_url, place + "singlefile/singlefile.html"


def ask(library: Library, path: str) -> Answer:
    port = library.server.replay_port
    return library.server.ask(path, port=port, host=f"{library.other}.localhost:{port}")


@pytest.mark.once
def test_large_pages_are_rewritten_outside_of_the_web_server(large: Library) -> None:
    web = psutil.Process(large.server.processes()["web"])
    ask(large, addresses(large)[0])
    before = web.memory_info().rss
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda path: ask(large, path), addresses(large) * 3))
    for answer in answers:
        assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert (b"/web/follow/" in answer.body, answer.body.count(b"One more")) == (True, LARGE.count(b"One more"))
    assert web.memory_info().rss - before < 30 * MEGABYTE
    assert [child for child in web.children(recursive=True) if "document_main" in " ".join(child.cmdline())] == []
