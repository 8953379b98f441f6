"""Results say by which network interface the connections of their hooks left."""

from __future__ import annotations

import signal

import pytest

from tests.integration.engine.driver import Collection, identity_of
from tests.site.serve import Site

LOOPBACK = ("lo", "127.0.0.1")
AS_A_BROWSER = 'curl -sS --max-time 30 --proxy "http://${http_proxy#*@}" "%s" >page'
"""A request that does not say which process makes it."""


def interfaces_of(collection: Collection) -> dict[str, tuple[str, str] | None]:
    """Interface and address by plugin."""
    fields = ("plugin", "iface__iface", "iface__ip_local")
    return {
        str(row["plugin"]): (row["iface__iface"], row["iface__ip_local"]) if row["iface__iface"] else None
        for row in collection.rows("ArchiveResult", *fields)
    }


@pytest.mark.database
def test_results_name_the_interface_of_their_hooks_connections(forked: Collection, site: Site) -> None:
    page = site.url_for("/article")
    navigate = "on_Snapshot__30_navigate.sh"
    forked.plugin(
        "navigate", {navigate: f"#!/bin/bash\n{AS_A_BROWSER % page}"}, config={"x-hooks": {navigate: {"session": True}}}
    )
    forked.plugin("browser", {"on_Snapshot__60_browser.sh": f"#!/bin/bash\n{AS_A_BROWSER % page}"})
    forked.plugin("fetch", {"on_Snapshot__60_fetch.sh": f'#!/bin/bash\ncurl -sS "{page}" >page'})
    forked.plugin("tunnel", {"on_Snapshot__60_tunnel.sh": f'#!/bin/bash\ncurl -sSp "{page}" >page'})
    socks = '--proxy "${http_proxy/http:/socks5h:}"'
    forked.plugin("socks", {"on_Snapshot__60_socks.sh": f'#!/bin/bash\ncurl -sS {socks} "{page}" >page'})
    forked.plugin("git", {"on_Snapshot__60_git.sh": f"#!/bin/bash\ngit clone -q {site.url_for('/git/repo.git')} repo"})
    forked.plugin("idle", {"on_Snapshot__60_idle.sh": "#!/bin/bash\necho text >page"})
    forked.plugin("refused", {"on_Snapshot__60_refused.sh": "#!/bin/bash\ncurl -sS http://10.0.0.1/ >page"})
    forked.add(page, PRIVATE_NETWORK_ALLOWLIST="")
    forked.run()
    connected = dict.fromkeys(["navigate", "fetch", "tunnel", "socks", "git"], LOOPBACK)
    assert interfaces_of(forked) == connected | {"browser": None, "idle": None, "refused": None}


def test_a_navigation_that_failed_names_none(forked: Collection, site: Site) -> None:
    page, navigate = site.url_for("/article"), "on_Snapshot__30_navigate.sh"
    script = f"#!/bin/bash\n{AS_A_BROWSER % page}\n" + """echo '{"type": "ArchiveResult", "status": "failed"}'\n"""
    forked.plugin("navigate", {navigate: script}, config={"x-hooks": {navigate: {"session": True}}})
    forked.add(page)
    forked.run()
    assert forked.results()["navigate"]["status"] == "failed"
    assert interfaces_of(forked) == {"navigate": None}


def test_the_next_worker_knows_what_a_hook_connected_before(forked: Collection, site: Site) -> None:
    script = (
        f'#!/bin/bash\necho up >>"$DATA_DIR/ledger"\ncurl -sS "{site.url_for("/article")}" >page\n'
        'until [ -e "$DATA_DIR/go" ]; do sleep 0.05; done\n'
    )
    forked.plugin("fetch", {"on_Snapshot__60_fetch.sh": script})
    forked.add(site.url_for("/article"))
    forked.watch()
    forked.wait("its request", lambda: site.hits("/article"))
    forked.wait("the hook on record", lambda: forked.hooks("fetch", status="running"))
    for row in forked.processes(worker_type="worker", status="running"):
        identity_of(row).signal(signal.SIGKILL)
    forked.wait("adopted", lambda: forked.rows("Snapshot", "owner", owner__isnull=False, fence__gt=1))
    (forked.root / "go").touch()
    forked.wait_sealed()
    if forked.mode != "portable":  # where nobody sees how another's child ended, it has to run again
        assert forked.ledger == ["up"]
    assert interfaces_of(forked) == {"fetch": LOOPBACK}
    forked.leave()
