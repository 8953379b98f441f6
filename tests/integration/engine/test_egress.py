"""The way out of a crawl: what its hooks ask for goes through one proxy, which lives and dies with its orchestrator."""

from __future__ import annotations

import json
import signal
import socket
from pathlib import Path
from typing import Any

import pytest

from archivebox.lib.processes import ProcessIdentity
from tests.integration.engine.driver import Collection, identity_of
from tests.site.serve import Site

FETCH = """
get() { curl -sS --max-time 30 "$@"; }
get "$SEED/article" >article
get "$OTHER/article" >other
get --proxy "${http_proxy/http:/socks5h:}" "$SEED/article" >by_socks
git clone -q "$SEED/git/repo.git" repo 2>git_log
wget -q --content-on-error -O by_wget "$SEED/redirect/elsewhere"
wget -O /dev/null --tries=1 "ftp://127.0.0.1:1/file" 2>by_ftp
env | grep -i _proxy | sort >environment
python3 -c 'import os, urllib.request as r; print(r.urlopen(os.environ["SEED"] + "/page.txt").status)' >by_python
"""
AGAIN = """
until [ -e "$DATA_DIR/go" ]; do sleep 0.05; done
curl -sS --max-time 30 "$SEED/article" | grep -c "On Keeping Pages"
"""
LISTEN = """#!/bin/bash
exec python3 -c '
import http.server, os
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"converted")
server = http.server.HTTPServer(("127.0.0.1", 0), Answer)
with open("port.tmp", "w") as file:
    file.write(str(server.server_port))
os.rename("port.tmp", "port")
print("ready", flush=True)
server.serve_forever()
'
"""
"""A program that a hook has started, as others start browsers and converters."""
ASK = """#!/bin/bash
own="http://127.0.0.1:$(cat $CRAWL_DIR/converter/port)/"
get() { curl -sS --max-time 30 "$@"; }
nobody="http://${http_proxy#*@}"
get "$own" >plain
get --proxy "${http_proxy/http:/socks5h:}" "${own/127.0.0.1/localhost}" >by_socks
get --proxytunnel "$own" >tunnel
get --proxy "$nobody" "$own" >as_a_page
get --proxy "http://hook:guessed@${http_proxy#*@}" "$own" >guessed
get "$FOREIGN" >foreign
"""
ASK_OTHER = """#!/bin/bash
curl -sS --max-time 30 "http://127.0.0.1:$(cat $DATA_DIR/port)/" >answer
touch "$DATA_DIR/go"
"""
NEVER = 'echo never >>"$DATA_DIR/ledger"; curl -sS --max-time 60 "$SEED/never"'


def with_place(site: Site, script: str) -> str:
    seed, other = site.url.rstrip("/"), site.other_url.rstrip("/")
    return f"#!/bin/bash\nexport SEED={seed} OTHER={other}\n{script}"


def proxy_of(collection: Collection) -> ProcessIdentity:
    rows = collection.wait("a proxy", lambda: collection.processes(worker_type="egress", status="running"))
    return identity_of(rows[-1])


def is_listened_on(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


def crawl_folder(collection: Collection) -> Path:
    return collection.root / str(collection.row("Crawl", "output_dir")["output_dir"])


def log_of(collection: Collection) -> list[dict[str, Any]]:
    lines = (crawl_folder(collection) / "egress" / "connections.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def output(collection: Collection, plugin: str, name: str) -> str:
    folder = collection.root / str(collection.row("Snapshot", "output_dir")["output_dir"])
    return (folder / plugin / name).read_text(errors="replace")


@pytest.mark.default
def test_all_that_hooks_ask_for_goes_out_by_the_proxy_of_their_crawl(forked: Collection, site: Site) -> None:
    forked.settings["PRIVATE_NETWORK_ALLOWLIST"] = ""
    forked.plugin("fetch", {"on_Snapshot__60_fetch.sh": with_place(site, FETCH)})
    forked.add(site.url_for("/article"))
    forked.run()
    assert forked.results()["fetch"]["status"] == "succeeded"
    for name in ("article", "by_socks"):
        assert "On Keeping Pages" in output(forked, "fetch", name)
    for name in ("other", "by_wget"):
        assert f"127.0.0.2:{site.port}: it is on a private network" in output(forked, "fetch", name)
    assert "Proxy request sent" in output(forked, "fetch", "by_ftp")
    assert output(forked, "fetch", "repo/.git/HEAD")
    assert output(forked, "fetch", "by_python") == "200\n"
    variables = dict(line.split("=", 1) for line in output(forked, "fetch", "environment").splitlines())
    assert variables["no_proxy"] == variables["NO_PROXY"] == "<-loopback>"
    assert len({value for name, value in variables.items() if name.lower() != "no_proxy"} - {"1", "basic"}) == 1
    assert {(line["event"], line["host"]) for line in log_of(forked)} == {
        ("connected", "127.0.0.1"), ("closed", "127.0.0.1"), ("refused", "127.0.0.2"),
    }  # fmt: skip
    totals = json.loads((crawl_folder(forked) / "egress" / "totals.json").read_text())
    assert totals["received"] == sum(line.get("received", 0) for line in log_of(forked))
    (proxy,) = forked.processes(worker_type="egress")
    assert (proxy["process_type"], proxy["status"], proxy["exit_code"]) == ("worker", "exited", 0)
    assert proxy["parent_id"] == forked.row("Process", "pk", process_type="orchestrator")["pk"]


@pytest.mark.default
def test_a_killed_proxy_is_started_again_and_who_comes_meanwhile_waits(forked: Collection, site: Site) -> None:
    hooks = {"on_Snapshot__60_never.sh": NEVER, "on_Snapshot__61_again.sh": AGAIN}
    forked.plugin("fetch", {name: with_place(site, script) for name, script in hooks.items()})
    forked.settings["MAX_ATTEMPTS"] = "1"
    forked.add(site.url_for("/article"))
    forked.watch()
    forked.wait_ledger("never")
    forked.wait("a request", lambda: site.hits("/never"))
    first = proxy_of(forked)
    first.signal(signal.SIGKILL)
    (forked.root / "go").touch()
    forked.wait_sealed()
    results = forked.results()
    assert results["again"]["status"] == "noresults", results["again"]  # it ended with 0, and keeps nothing
    assert results["never"]["status"] == "failed"  # its connection broke: another attempt would be made
    assert proxy_of(forked) != first
    forked.leave()
    ends = {row["end_reason"] for row in forked.processes(worker_type="egress")}
    assert ends == {"signalled", "exited"}


def test_a_hook_that_outlives_its_worker_and_the_proxy_keeps_its_way_out(forked: Collection, site: Site) -> None:
    forked.plugin("fetch", {"on_Snapshot__61_again.sh": with_place(site, "echo up >>$DATA_DIR/ledger\n" + AGAIN)})
    forked.add(site.url_for("/article"))
    forked.watch()
    forked.wait("the hook on record", lambda: forked.hooks("again", status="running"))
    forked.wait_ledger("up")
    (crawl_port,) = (int(each.read_text()) for each in (forked.root / "run" / "egress").iterdir())
    both = [proxy_of(forked), *(identity_of(row) for row in forked.processes(worker_type="worker", status="running"))]
    for one in both:
        one.signal(signal.SIGSTOP)
    for one in both:
        one.signal(signal.SIGKILL)
    forked.wait("adopted", lambda: forked.rows("Snapshot", "owner", owner__isnull=False, fence__gt=1))
    forked.wait("its port", lambda: is_listened_on(crawl_port))
    (forked.root / "go").touch()
    forked.wait_sealed()
    assert forked.results()["again"]["status"] == "noresults", forked.results()
    if forked.mode != "portable":  # where nobody sees how another's child ended, it has to run again
        assert forked.ledger == ["up"]
    forked.leave()


def test_the_proxy_ends_with_its_orchestrator(forked: Collection, site: Site) -> None:
    forked.plugin("fetch", {"on_Snapshot__61_again.sh": with_place(site, "echo up >>$DATA_DIR/ledger\n" + AGAIN)})
    forked.add(site.url_for("/article"))
    watcher = forked.watch()
    forked.wait_ledger("up")
    proxy = proxy_of(forked)
    watcher.kill()
    forked.watchers.clear()
    orchestrator = forked.row("Process", "pid", "pid_ns", "start_ticks", "boot_id", process_type="orchestrator")
    identity_of(orchestrator).signal(signal.SIGKILL)
    forked.wait("its end", lambda: not proxy.is_alive() or proxy.is_zombie(), seconds=90)


def test_a_hook_reaches_what_its_crawl_started_and_nothing_else_here(each_mode: Collection, site: Site) -> None:
    """One listens in the name of the crawl, one (the test's own) does not; a page has no password."""
    each_mode.settings["PRIVATE_NETWORK_ALLOWLIST"] = ""
    ask = ASK.replace("$FOREIGN", site.other_url)
    each_mode.plugin("converter", {"on_Crawl__10_converter.daemon.bg.sh": LISTEN, "on_Snapshot__60_ask.sh": ask})
    each_mode.add(site.url_for("/article"))
    each_mode.run()
    for name in ("plain", "by_socks", "tunnel"):
        assert output(each_mode, "converter", name) == "converted", name
    for name in ("as_a_page", "guessed", "foreign"):
        assert "it is on a private network" in output(each_mode, "converter", name), name
    totals = json.loads((crawl_folder(each_mode) / "egress" / "totals.json").read_text())
    assert (totals["received"], totals["refused"]) == (0, 3)


def test_another_crawls_listener_is_as_private_as_any(forked: Collection, site: Site) -> None:
    forked.settings |= {"PRIVATE_NETWORK_ALLOWLIST": "", "CRAWLS_IN_FLIGHT": "2"}
    wait = with_place(site, AGAIN)
    forked.plugin("converter", {"on_Crawl__10_converter.daemon.bg.sh": LISTEN, "on_Snapshot__60_wait.sh": wait})
    forked.plugin("ask", {"on_Snapshot__60_ask.sh": ASK_OTHER})
    forked.add(site.url_for("/article"), PLUGINS=["converter"])
    forked.watch()
    (port,) = forked.wait("its port", lambda: list(forked.root.glob("users/*/crawls/*/*/converter/port")))
    (forked.root / "port").write_text(port.read_text())
    forked.add(site.url_for("/colour"), PLUGINS=["ask"])
    forked.wait_sealed()
    (answer,) = forked.root.glob("users/*/snapshots/*/*/*/ask/answer")
    assert "it is on a private network" in answer.read_text()
    forked.leave()


@pytest.mark.once
def test_a_hook_that_goes_past_the_proxy_is_off_unless_allowed(forked: Collection) -> None:
    name = "on_Snapshot__60_alone.sh"
    forked.plugin("alone", {name: "exit 0\n"}, config={"x-hooks": {name: {"network": "direct"}}})
    forked.add("http://one.test/")
    forked.run()
    assert (forked.results()["alone"]["status"], forked.results()["alone"]["reason"]) == ("skipped", "direct_network")
    second = forked.add("http://two.test/", ALLOW_DIRECT_NETWORK=True)
    forked.run()
    assert [row["status"] for row in forked.rows("ArchiveResult", "status", snapshot__crawl=second)] != ["skipped"]


@pytest.mark.database
def test_a_crawl_that_has_received_all_it_may_ends_and_says_so(forked: Collection, site: Site) -> None:
    script = with_place(site, 'curl -sS "$SEED/huge.bin?mb=5" >/dev/null')
    forked.plugin("fetch", {"on_Snapshot__60_fetch.sh": script})
    forked.add(site.url_for("/article"), site.url_for("/colour"), MAX_SIZE=1_000_000)
    forked.run()
    crawl = forked.row("Crawl", "status", "reason")
    assert crawl == {**crawl, "status": "cancelled", "reason": "size_reached:1.0 MB"}
