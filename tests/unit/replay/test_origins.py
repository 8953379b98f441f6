from uuid import UUID

import pytest

from archivebox.replay.addresses import Replay, framers, host_name, policy, snapshot_of_host
from archivebox.replay.capability import LIFETIME, STEP, Capability, Purpose, grant, read

KEY = UUID("01a00000-0000-7000-8000-000000000001")
OWN = f"{KEY}.localhost:8001"


def test_local_names_give_each_snapshot_a_host_of_its_own() -> None:
    place = Replay(8001)
    for host in ("localhost:8000", "127.0.0.1:8000", "[::1]:8000", "LOCALHOST"):
        assert place.origin(KEY, host) == f"http://{OWN}"
        assert place.isolates(host)
    assert place.source("localhost:8000") == "http://*.localhost:8001"


def test_other_names_share_one_port_and_are_not_isolated() -> None:
    place = Replay(8001)
    assert place.origin(KEY, "archive.lan:8000") == "http://archive.lan:8001"
    assert place.origin(KEY, "[fd00::1]:8000") == "http://[fd00::1]:8001"
    assert not place.isolates("archive.lan:8000")
    assert not place.isolates("localhost.evil.example")


def test_a_proxy_may_give_host_names_to_snapshots() -> None:
    assert Replay(8001, "https://*.replay.example").origin(KEY, "x") == f"https://{KEY}.replay.example"
    assert Replay(8001, "https://*.replay.example").isolates("x")
    assert not Replay(8001, "https://replay.example").isolates("x")


@pytest.mark.parametrize(
    ("replay_url", "app_host", "runs"),
    [
        ("https://*.pages.example.net", "archive.example.org", True),
        ("https://*.pages.example.org", "archive.example.org", False),
        ("https://*.archive.example.org", "archive.example.org:443", False),
        ("https://*.pages-of-ada.co.uk", "archive.ada.co.uk", True),
        ("https://*.pages.ada.co.uk", "archive.ada.co.uk", False),
        ("https://*.pages.lan", "archive.lan", True),
        ("https://*.archive.home.lan", "archive.home.lan", False),
        ("http://*.replay", "192.0.2.7:8000", True),
        ("https://pages.example.net", "archive.example.org", False),
        ("", "localhost:8000", True),
        ("", "archive.lan:8000", False),
    ],
)
def test_scripts_run_only_on_another_site_than_the_app(replay_url: str, app_host: str, runs: bool) -> None:
    assert Replay(8001, replay_url).runs_scripts(app_host) is runs
    elsewhere = Replay(8001, "https://*.pages.example.net", app_url="https://archive.example.net")
    assert not elsewhere.runs_scripts("localhost"), "the app has another name, too"


def test_which_snapshot_a_host_is_for() -> None:
    assert snapshot_of_host(OWN) == KEY
    for host in ("localhost", f"{KEY.hex}.localhost", "", "[bad", f"x{KEY}.localhost"):
        assert snapshot_of_host(host) is None


def test_scripts_run_where_they_were_switched_on_and_on_a_host_of_their_own_only() -> None:
    own = policy(OWN, "text/html", is_clean=True)
    shared = policy("archive.lan:8001", "text/html", scripts=True, is_clean=True)
    running = policy(OWN, "text/html", scripts=True, is_clean=True)
    for text in (own, shared, running):
        assert "connect-src 'none'" in text
        assert "worker-src 'none'" in text
        assert "form-action 'none'" in text
    assert running.endswith("sandbox allow-scripts allow-same-origin")
    assert own.endswith("sandbox allow-same-origin")
    assert shared.endswith("; sandbox")
    assert "script-src 'none'" in shared
    assert "script-src 'none'" in own
    assert "sandbox" not in policy(OWN, "application/pdf")


def test_only_what_tells_no_site_where_it_comes_from_has_an_origin() -> None:
    assert policy(OWN, "image/svg+xml", scripts=True).endswith("; sandbox")


@pytest.mark.parametrize("host", ["x;script-src *", "x'y", 'a"b', "a,b", "<b>", "a b", "é.example"])
def test_a_policy_holds_no_host_that_is_none(host: str) -> None:
    assert host_name(host) == ""
    assert host not in policy(host, "text/html")
    assert "://:" not in policy(host, "text/html")


def test_only_the_app_may_frame_archived_pages() -> None:
    assert framers(OWN) == "http://localhost:* http://127.0.0.1:*"
    assert framers("archive.lan:8001") == "http://archive.lan:* https://archive.lan:*"
    assert framers(OWN, "https://archive.example") == "https://archive.example"


def test_a_capability_is_for_one_snapshot_and_expires() -> None:
    token = grant(KEY, "v1", now=1_000_000)
    right = Capability(KEY, Purpose.FILES, "v1")
    assert read(token, "a/b", now=1_000_000) == right
    assert read(token, "", now=1_000_000 + LIFETIME - 1) == right
    assert read(token, "", now=1_000_000 + LIFETIME + STEP) is None
    assert grant(KEY, "v1", now=1_000_100) == token, "so that browsers can cache"
    other = grant(UUID(int=KEY.int + 1), "v1", now=1_000_000)
    forged = token.rpartition(".")[0] + "." + other.rpartition(".")[2]
    for wrong in ("", ".", "x.y.z", forged, token[:-1], token.replace(".", ".."), token.replace("v1", "v2")):
        assert read(wrong, "", now=1_000_000) is None


def test_a_capability_is_for_one_purpose() -> None:
    thumbnail = grant(KEY, "v1", Purpose.FILE, "screenshot/screenshot.png")
    assert read(thumbnail, "screenshot/screenshot.png") == Capability(KEY, Purpose.FILE, "v1")
    for path in ("", "screenshot/", "singlefile/singlefile.html", "screenshot/screenshot.png/x"):
        assert read(thumbnail, path) is None
    for purpose in (Purpose.FILES, Purpose.SCRIPTS):
        assert read(thumbnail.replace(".f.", f".{purpose}."), "") is None
