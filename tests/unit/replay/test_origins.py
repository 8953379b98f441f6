from __future__ import annotations

from uuid import UUID

from archivebox.replay import capability
from archivebox.replay.origins import Replay, framers, policy, snapshot_of_host

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


def test_which_snapshot_a_host_is_for() -> None:
    assert snapshot_of_host(OWN) == KEY
    for host in ("localhost", f"{KEY.hex}.localhost", "", "[bad", f"x{KEY}.localhost"):
        assert snapshot_of_host(host) is None


def test_scripts_run_on_a_host_of_their_own_only_and_reach_nothing() -> None:
    own, shared = policy(OWN, "text/html"), policy("archive.lan:8001", "text/html")
    for text in (own, shared):
        assert "connect-src 'none'" in text
        assert "worker-src 'none'" in text
        assert "form-action 'none'" in text
    assert own.endswith("sandbox allow-scripts allow-same-origin")
    assert shared.endswith("; sandbox")
    assert "script-src 'none'" in shared
    assert "sandbox" not in policy(OWN, "application/pdf")


def test_only_the_app_may_frame_archived_pages() -> None:
    assert framers(OWN) == "http://localhost:* http://127.0.0.1:*"
    assert framers("archive.lan:8001") == "http://archive.lan:* https://archive.lan:*"
    assert framers(OWN, "https://archive.example") == "https://archive.example"


def test_a_capability_is_for_one_snapshot_and_expires() -> None:
    token = capability.grant(KEY, now=1_000_000)
    assert capability.read(token, now=1_000_000) == KEY
    assert capability.read(token, now=1_000_000 + capability.LIFETIME - 1) == KEY
    assert capability.read(token, now=1_000_000 + capability.LIFETIME + capability.STEP) is None
    assert capability.grant(KEY, now=1_000_100) == token, "so that browsers can cache"
    other = capability.grant(UUID(int=KEY.int + 1), now=1_000_000)
    forged = token.rpartition(".")[0] + "." + other.rpartition(".")[2]
    for wrong in ("", ".", "x.y.z", forged, token[:-1], token.replace(".", "..")):
        assert capability.read(wrong, now=1_000_000) is None
