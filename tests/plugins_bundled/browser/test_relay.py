"""Who may speak to the crawl's browser, and that those who may do not get into each other's way."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import time
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import websocket

from archivebox.plugins.base.cdp import CDPConnection, CommandFailed, TargetGone
from tests.plugins_bundled.browser.chain import Crawl, Snapshot
from tests.site.serve import Site

pytestmark = pytest.mark.browser
SOON = 90.0  # seconds that mean "not for ever" on a loaded machine
LARGE = 8_000_000  # characters: more than any buffer on the way


@contextlib.contextmanager
def talk(crawl: Crawl, target: str = "") -> Iterator[CDPConnection]:
    connection = CDPConnection.open(crawl.session()["socket"], target)
    yield connection
    connection.close()


@contextlib.contextmanager
def page(crawl: Crawl) -> Iterator[str]:
    """A tab of nobody's."""
    with talk(crawl) as browser:
        target = browser.call("Target.createTarget", {"url": "about:blank", "newWindow": True})["targetId"]
        yield target
        browser.call("Target.closeTarget", {"targetId": target})


def evaluate(connection: CDPConnection, expression: str, session: str = "") -> Any:
    asked = {"expression": expression, "returnByValue": True}
    return connection.call("Runtime.evaluate", asked, session=session)["result"].get("value")


def listening(pid: int) -> set[int]:
    """TCP ports on which a process and what it started wait for anybody (proc_net(5), proc_pid_fd(5))."""
    inodes: set[str] = set()
    for process in (pid, *descendants(pid)):
        with contextlib.suppress(FileNotFoundError):
            for entry in Path(f"/proc/{process}/fd").iterdir():
                with contextlib.suppress(FileNotFoundError):
                    inodes.add(str(entry.readlink()))
    ports = set()
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[3] == "0A" and f"socket:[{fields[9]}]" in inodes:
            ports.add(int(fields[1].rpartition(":")[2], 16))
    return ports


def descendants(pid: int) -> list[int]:
    found = [
        int(each) for task in Path(f"/proc/{pid}/task").iterdir() for each in (task / "children").read_text().split()
    ]
    return found + [grandchild for child in found for grandchild in descendants(child)]


# --- who may come in --------------------------------------------------------------------------------------------


def test_no_port_takes_orders_from_whoever_asks(crawl: Crawl, tmp_path: Path) -> None:
    assert crawl.browser is not None
    secret_file = tmp_path / "secret-key"
    secret_file.write_text("nobody's business")
    ports = listening(crawl.browser.process.pid)
    assert ports == {urllib.parse.urlsplit(crawl.session()["ws_url"]).port}
    for port in ports:
        for method, path in (
            ("GET", "/json/version"),
            ("GET", "/json/list"),
            ("PUT", f"/json/new?file://{secret_file}"),
        ):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SOON)
            connection.request(method, path)
            answer = connection.getresponse()
            assert (answer.status, answer.read()) == (403, b"")
        with pytest.raises(websocket.WebSocketBadStatusException):
            websocket.create_connection(f"ws://127.0.0.1:{port}/devtools/browser/{'0' * 32}", suppress_origin=True)
    with talk(crawl) as browser:
        opened = browser.call("Target.getTargets")["targetInfos"]
    assert not [each for each in opened if each["url"].startswith("file:")]


def test_no_page_may_come_in_even_with_the_secret(crawl: Crawl) -> None:
    with pytest.raises(websocket.WebSocketBadStatusException):
        websocket.create_connection(crawl.session()["ws_url"], origin="http://127.0.0.1:8000", timeout=SOON)


def test_what_lets_one_in_is_the_owners_alone(crawl: Crawl, site: Site) -> None:
    snapshot = crawl.snapshot("modes", site.url.rstrip("/") + "/colour").open_tab()
    keys = [crawl.folder / "chrome" / "session.json", snapshot.folder / "chrome" / "target.json"]
    keys += [folder / "chrome" / "cdp_url.txt" for folder in (crawl.folder, snapshot.folder)]
    assert [key.stat().st_mode & 0o077 for key in keys] == [0] * 4
    assert Path(crawl.session()["socket"]).parent.stat().st_mode & 0o077 == 0
    snapshot.close()
    assert not any(key.exists() for key in keys[1::2])


def test_those_who_never_say_what_they_want_keep_nobody_out(crawl: Crawl) -> None:
    port = urllib.parse.urlsplit(crawl.session()["ws_url"]).port
    idle = [socket.create_connection(("127.0.0.1", port or 0)) for _ in range(100)]
    browser = websocket.create_connection(crawl.session()["ws_url"], suppress_origin=True, timeout=SOON)
    browser.close()
    for each in idle:
        each.close()


# --- each sees its own ------------------------------------------------------------------------------------------


def test_a_websocket_client_speaks_to_browser_and_tab(crawl: Crawl, site: Site) -> None:
    snapshot = crawl.snapshot("ws", site.url.rstrip("/") + "/colour")
    assert snapshot.navigate().status == "succeeded"
    told = snapshot.folder / "chrome"
    browser = websocket.create_connection((told / "cdp_url.txt").read_text(), suppress_origin=True, timeout=SOON)
    asked = {"targetId": (told / "target_id.txt").read_text(), "flatten": True}
    browser.send(json.dumps({"id": 7, "method": "Target.attachToTarget", "params": asked}))
    event, answer = json.loads(browser.recv()), json.loads(browser.recv())
    assert event["method"] == "Target.attachedToTarget"
    assert answer == {"id": 7, "result": {"sessionId": event["params"]["sessionId"]}}
    title = {"expression": "location.href"}
    call = {"id": 8, "method": "Runtime.evaluate", "params": title, "sessionId": answer["result"]["sessionId"]}
    browser.send(json.dumps(call))
    assert json.loads(browser.recv())["result"]["result"]["value"] == snapshot.url
    browser.ping()
    browser.close()
    tab = websocket.create_connection(snapshot.json("chrome/target.json")["ws_url"], suppress_origin=True, timeout=SOON)
    tab.send(json.dumps({"id": 1, "method": "Runtime.evaluate", "params": {"expression": "1 + 1"}}))
    assert json.loads(tab.recv()) == {"id": 1, "result": {"result": {"type": "number", "value": 2, "description": "2"}}}
    tab.close()
    snapshot.close()


def test_calls_and_events_of_one_are_not_told_to_another(crawl: Crawl) -> None:
    with page(crawl) as target, talk(crawl, target) as one, talk(crawl, target) as other:
        one.call("Runtime.enable")
        assert [evaluate(client, f"{number}") for number, client in enumerate((one, other))] == [0, 1]
        evaluate(other, "console.log('seen by who asked')")
        names = set()
        while (event := one.next_event(SOON)) is not None and event.method != "Runtime.consoleAPICalled":
            names.add(event.method)
        assert event is not None
        other.call("Browser.getVersion")
        assert not other.pending


def test_the_session_of_another_is_not_to_be_had(crawl: Crawl) -> None:
    with page(crawl) as target, talk(crawl) as one, talk(crawl) as other:
        session = one.call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        assert evaluate(one, "1", session) == 1
        with pytest.raises(CommandFailed, match="Session with given id not found"):
            evaluate(other, "1", session)


def test_a_tab_that_is_not_there_is_gone(crawl: Crawl) -> None:
    with talk(crawl, "F" * 32) as nobody, pytest.raises(TargetGone):
        nobody.call("Runtime.enable")


def test_the_end_of_a_tab_is_told_to_who_speaks_to_it(crawl: Crawl) -> None:
    with page(crawl) as target:
        connection = CDPConnection.open(crawl.session()["socket"], target)
        connection.call("Runtime.enable")
    with pytest.raises(TargetGone):
        list(iter(lambda: connection.next_event(SOON), None))


def test_large_messages_pass_both_ways(crawl: Crawl) -> None:
    with page(crawl) as target, talk(crawl, target) as client:
        assert len(evaluate(client, f"'x'.repeat({LARGE})")) == LARGE
        assert evaluate(client, f"{'x' * LARGE!r}.length") == LARGE
        tab = crawl.session()["ws_url"].replace("browser/", f"page/{target}/")
        web = websocket.create_connection(tab, suppress_origin=True, timeout=SOON)
        asked = {"expression": f"{'x' * LARGE!r}", "returnByValue": True}
        web.send(json.dumps({"id": 1, "method": "Runtime.evaluate", "params": asked}))
        assert len(json.loads(web.recv())["result"]["result"]["value"]) == LARGE
        web.close()


def test_one_who_does_not_listen_keeps_nobody_waiting(crawl: Crawl) -> None:
    with page(crawl) as target, talk(crawl, target) as deaf, talk(crawl, target) as client:
        for _ in range(4):
            deaf.send("Runtime.evaluate", {"expression": f"'x'.repeat({LARGE})", "returnByValue": True})
        assert evaluate(client, "2") == 2


# --- downloads --------------------------------------------------------------------------------------------------


DOWNLOAD = """(() => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(["from the page"]));
    link.download = "planted.txt";
    document.body.append(link);
    link.click();
})()"""


def download(snapshot: Snapshot) -> str:
    """Have the page download something; what became of it."""
    target = snapshot.json("chrome/target.json")
    with talk(snapshot.crawl) as browser, talk(snapshot.crawl, target["target_id"]) as tab:
        tab.call("Page.enable")
        tab.call("Runtime.evaluate", {"expression": DOWNLOAD, "userGesture": True})
        browser.call("Browser.getVersion")
        deadline = time.monotonic() + SOON
        while (left := deadline - time.monotonic()) > 0:
            event = tab.next_event(left)
            if event is not None and event.method == "Page.downloadProgress" and event.params["state"] != "inProgress":
                return str(event.params["state"])
    return "never told"


def test_a_page_downloads_nothing_unless_a_hook_takes_it(tmp_path: Path, site: Site) -> None:
    home, taken = tmp_path / "Downloads", tmp_path / "taken"
    with Crawl(tmp_path, TIMEOUT="30") as crawl:
        snapshot = crawl.snapshot("download", site.url.rstrip("/") + "/colour")
        assert snapshot.navigate().status == "succeeded"
        assert download(snapshot) == "canceled"
        with talk(crawl) as hook:
            hook.call("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(taken)})
            assert download(snapshot) == "completed"
        assert [path.name for path in taken.iterdir()] == ["planted.txt"]
        assert download(snapshot) == "canceled"
        snapshot.close()
    assert not home.exists()
