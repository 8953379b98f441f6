"""The replay listener gives files of one snapshot to whoever has its capability, and nothing else."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.webserver.fixtures import Library, open_library
from tests.webserver.rows import NAME, PASSWORD
from tests.webserver.server import Answer, Visitor, in_collection

pytestmark = pytest.mark.once


@pytest.fixture(scope="module")
def library(shared_library: Library) -> Library:
    return shared_library


@pytest.fixture(scope="module")
def base(library: Library) -> str:
    """The path under which the files of the snapshot are, with its capability."""
    page = library.visitor.get(f"/snapshots/{library.snapshot}/").text
    found = re.search(r'http://[^/"]+(/[0-9a-f]{32}\.[^/"]+/)', page)
    assert found, page
    return found.group(1)


def ask(library: Library, path: str, *, host: str = "", method: str = "GET", **headers: str) -> Answer:
    """Ask the replay listener by the snapshot's own host name, unless another is given."""
    port = library.server.replay_port
    own = f"{library.snapshot}.localhost:{port}"
    return library.server.ask(path, port=port, host=host or own, method=method, body=b"", **headers)


def test_a_file_comes_with_its_type_and_may_reach_nothing(library: Library, base: str) -> None:
    answer = ask(library, base + "singlefile/singlefile.html", Cookie="archivebox_session=x")
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["x-content-type-options"] == "nosniff"
    policy = answer.headers["content-security-policy"]
    assert "connect-src 'none'" in policy
    assert "allow-scripts" not in policy
    assert "script-src 'none'" in policy
    assert answer.cookies == []
    assert answer.headers["referrer-policy"] == "no-referrer"


def test_on_a_host_that_others_share_no_script_runs(library: Library, base: str) -> None:
    answer = ask(library, base + "singlefile/singlefile.html", host=f"127.0.0.1:{library.server.replay_port}")
    assert answer.status == 200
    directives = [part.strip() for part in answer.headers["content-security-policy"].split(";")]
    assert "sandbox" in directives
    assert "script-src 'none'" in directives


def test_on_a_host_that_others_share_a_page_has_its_fonts(library: Library, base: str) -> None:
    """Its origin is nobody's there, and fonts are asked for across origins."""
    path, shared = base + "singlefile/singlefile.html", f"127.0.0.1:{library.server.replay_port}"

    def may_read(destination: str, origin: str = "null", host: str = shared) -> str | None:
        answer = ask(library, path, host=host, Origin=origin, Sec_Fetch_Dest=destination)
        return answer.headers.get("access-control-allow-origin")

    assert (may_read("font"), may_read("image")) == ("null", "null")
    assert not any(may_read(destination) for destination in ("empty", "document", "script", "iframe"))
    assert may_read("font", origin="https://example.com") is None
    assert may_read("font", host="") is None, "on a host of its own it asks nobody else"


def with_scripts(visitor: Visitor, library: Library) -> str:
    """The path of the frame after somebody has switched the page's scripts on."""
    page = visitor.post(f"/snapshots/{library.snapshot}/?view=singlefile", scripts="run").text
    found = re.search(r'<iframe src="http://[^/"]+(/[^"]+)" sandbox="([^"]*)"', page)
    assert found, page
    assert found.group(2) == "allow-scripts allow-same-origin"
    return found.group(1)


def test_scripts_run_in_the_frame_once_they_are_switched_on_and_never_in_a_tab(library: Library) -> None:
    path = with_scripts(library.visitor, library)
    framed = ask(library, path, Sec_Fetch_Dest="iframe")
    assert framed.headers["content-security-policy"].endswith("sandbox allow-scripts allow-same-origin")
    assert framed.headers["cache-control"] == "no-store", "nor does a tab find it in the cache"
    for more in ({"Sec_Fetch_Dest": "document"}, {}):
        answer = ask(library, path, **more)
        policy = answer.headers["content-security-policy"]
        assert "sandbox" in policy
        assert "allow-scripts" not in policy
        assert "script-src 'none'" in policy
        assert answer.headers["vary"] == "sec-fetch-dest"
    shared = ask(library, path, host=f"127.0.0.1:{library.server.replay_port}", Sec_Fetch_Dest="iframe")
    assert shared.headers["content-security-policy"].endswith("; sandbox")
    page = library.visitor.get(f"/snapshots/{library.snapshot}/?view=singlefile&scripts=run").text
    assert 'sandbox="allow-same-origin allow-top-navigation-by-user-activation"' in page, "a link switches nothing on"


def thumbnail(visitor: Visitor) -> str:
    found = re.search(r'<img src="http://[^/"]+(/[^"]+screenshot.png)"', visitor.get("/").text)
    assert found
    return found.group(1)


def test_what_opens_a_thumbnail_opens_the_thumbnail(library: Library, base: str) -> None:
    path = thumbnail(library.visitor)
    assert ask(library, path).status == 200
    token = path.strip("/").partition("/")[0]
    for other in ("", "screenshot/", "singlefile/singlefile.html"):
        assert ask(library, f"/{token}/{other}").status == 403
    assert token not in base


def test_a_capability_ends_with_the_log_out(library: Library) -> None:
    somebody = library.stranger()
    somebody.log_in(NAME, PASSWORD)
    path = thumbnail(somebody)
    assert ask(library, path).status == 200
    somebody.post("/logout/", form_at="/")
    assert ask(library, path).status == 403


def test_a_capability_ends_with_a_new_password(library: Library) -> None:
    code = (
        "import sys\nfrom django.contrib.auth.models import User\n"
        "user, _ = User.objects.get_or_create(username='brief')\nuser.set_password(sys.argv[1])\nuser.save()"
    )
    in_collection(library.server.folder, code, PASSWORD)
    somebody = library.stranger()
    assert somebody.log_in("brief", PASSWORD).status == 302
    path = thumbnail(somebody)
    assert ask(library, path).status == 200
    in_collection(library.server.folder, code, "another " + PASSWORD)
    assert ask(library, path).status == 403


def test_what_is_removed_is_not_served(library: Library, base: str) -> None:
    code = (
        "import sys\nfrom django.utils import timezone\nfrom archivebox.core.models import Snapshot\n"
        "moment = timezone.now() if sys.argv[2] == 'removed' else None\n"
        "Snapshot.objects.filter(pk=sys.argv[1]).update(retired_at=moment)"
    )
    in_collection(library.server.folder, code, library.snapshot, "removed")
    try:
        assert ask(library, base + "singlefile/singlefile.html").status == 404
        assert library.visitor.get(f"/snapshots/{library.snapshot}/").status == 410
        assert library.snapshot not in library.visitor.get(f"/crawls/{library.crawl}/").text
    finally:
        in_collection(library.server.folder, code, library.snapshot, "brought back")
    assert ask(library, base + "singlefile/singlefile.html").status == 200


@pytest.fixture(scope="module")
def open_index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    yield from open_library(tmp_path_factory.mktemp("index"), PUBLIC_INDEX="true")


def test_with_the_list_alone_public_a_passer_by_sees_thumbnails_and_nothing_else(open_index: Library) -> None:
    path = thumbnail(open_index.stranger())
    assert ask(open_index, path).status == 200
    token = path.strip("/").partition("/")[0]
    assert ask(open_index, f"/{token}/singlefile/singlefile.html").status == 403


def test_with_the_list_alone_public_a_passer_by_cannot_guess_at_texts(open_index: Library) -> None:
    text = Path(open_index.folder) / "htmltotext" / "htmltotext.txt"
    text.parent.mkdir()
    text.write_text("A quincunx of trees.")
    code = (
        "import sys; from archivebox.core.models import Snapshot; from archivebox.search.backend import learn;"
        "learn(Snapshot.objects.filter(pk=sys.argv[1]))"
    )
    in_collection(open_index.server.folder, code, open_index.snapshot)
    assert "Story 69" in open_index.visitor.get("/?q=quincunx").text
    assert "Nothing matches" in open_index.stranger().get("/?q=quincunx").text


def test_a_name_that_is_not_ours_is_refused(library: Library, base: str) -> None:
    for host in ("evil.example", "x;script-src *", f"{library.snapshot}.evil.example"):
        answer = ask(library, base + "singlefile/singlefile.html", host=host)
        assert answer.status == 400
        assert host not in answer.headers["content-security-policy"]


def test_without_a_valid_capability_nothing_is_shown(library: Library, base: str) -> None:
    token = base.strip("/")
    for wrong in ("", "x", token[:-1], token.replace(token[:32], library.other.replace("-", "")), token.upper()):
        assert ask(library, f"/{wrong}/singlefile/singlefile.html").status == 403


def test_a_capability_is_for_one_snapshot(library: Library, base: str) -> None:
    host = f"{library.other}.localhost:{library.server.replay_port}"
    assert ask(library, base + "singlefile/singlefile.html", host=host).status == 403


@pytest.mark.parametrize(
    "path",
    [
        "../../../../../../index.sqlite3", "..%2f..%2findex.sqlite3", "%2e%2e/%2e%2e/", "media/out", "media/out/passwd",
        ".hooks/secret.log", ".hooks/", "media/%00", "nothing", "media/clip.mp4/x", "%ff%fe", "media/" + "n" * 300,
    ],
)  # fmt: skip
def test_nothing_outside_the_folder_or_behind_a_link_is_read(library: Library, base: str, path: str) -> None:
    answer = ask(library, base + path)
    assert answer.status == 404
    assert "There is no such file" in answer.text


def test_a_fifo_does_not_hold_the_listener_up(library: Library, base: str) -> None:
    os.mkfifo(Path(library.folder) / "media" / "pipe")
    assert ask(library, base + "media/pipe").status == 404


def test_error_pages_are_escaped(library: Library, base: str) -> None:
    assert "<script>alert" not in ask(library, base + "<script>alert(1)</script>").text
    assert "<script>alert" not in ask(library, "/<script>alert(1)</script>/").text


@pytest.mark.parametrize(
    ("asked", "status", "first", "length"),
    [
        ("bytes=0-9", 206, 0, 10), ("bytes=256-", 206, 256, 1048320), ("bytes=-4", 206, 1048572, 4),
        ("bytes=1048570-9999999", 206, 1048570, 6), ("bytes=5-2", 200, 0, 1048576), ("bytes=0-1,4-5", 200, 0, 1048576),
        ("lines=1-2", 200, 0, 1048576), ("bytes=1048576-", 416, 0, 0),
    ],
)  # fmt: skip
def test_parts_of_media(  # noqa: PLR0917 - one line of the table each
    library: Library, base: str, asked: str, status: int, first: int, length: int
) -> None:
    answer = ask(library, base + "media/clip.mp4", Range=asked)
    whole = bytes(range(256)) * 4096
    assert answer.status == status
    assert answer.headers.get("content-length", str(length)) == str(length)
    assert answer.body == (whole[first : first + length] if status != 416 else b"")
    if status == 206:
        assert answer.headers["content-range"] == f"bytes {first}-{first + length - 1}/1048576"
    if status == 416:
        assert answer.headers["content-range"] == "bytes */1048576"


def test_a_file_that_has_not_changed_is_not_sent_again(library: Library, base: str) -> None:
    first = ask(library, base + "media/clip.mp4", method="HEAD")
    assert (first.status, first.body) == (200, b"")
    assert ask(library, base + "media/clip.mp4", If_None_Match=first.headers["etag"]).status == 304


def test_a_folder_lists_its_files_and_escapes_their_names(library: Library, base: str) -> None:
    root = ask(library, base)
    assert "singlefile/" in root.text
    assert ".hooks" not in root.text
    listing = ask(library, base + "media/").text
    assert 'href="./%3Cb%3E%26.txt"' in listing
    assert "&lt;b&gt;&amp;.txt" in listing
    assert ">out<" not in listing
    answer = ask(library, base + "media")
    assert (answer.status, answer.headers["location"]) == (302, "./media/")


def test_only_reading_is_possible(library: Library, base: str) -> None:
    assert ask(library, base + "media/clip.mp4", method="POST").status == 405
    assert ask(library, base + "media/clip.mp4", method="DELETE").status == 405


def test_the_app_is_not_behind_the_replay_listener_nor_the_other_way_round(library: Library) -> None:
    assert ask(library, "/health/").status == 403
    assert ask(library, "/admin/").status == 403
