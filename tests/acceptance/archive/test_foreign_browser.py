"""A browser that somebody else's hook starts: its crawl's hooks reach it, its pages reach nothing of this machine."""

from __future__ import annotations

import json

import pytest

from tests.acceptance.archive.conftest import Home
from tests.site.serve import Site

pytestmark = pytest.mark.browser

LAUNCH = """#!/bin/bash
exec chromium --headless=new --no-sandbox --remote-debugging-port=0 --user-data-dir="$PWD/profile" about:blank
"""
"""It says nothing of a proxy, so that Chromium takes that of its environment."""
ASK = """
import json, os, sys, time
from urllib.request import Request, urlopen
from websocket import create_connection

active = os.environ["CRAWL_DIR"] + "/theirs/profile/DevToolsActivePort"
while not os.path.exists(active) or "\\n" not in open(active).read():
    time.sleep(0.05)
port = open(active).read().split()[0]
with urlopen(Request(f"http://127.0.0.1:{port}/json/new?about:blank", method="PUT"), timeout=30) as answer:
    tab = json.load(answer)
devtools = create_connection(tab["webSocketDebuggerUrl"], timeout=30, suppress_origin=True)

def call(method, **params):
    devtools.send(json.dumps({"id": 1, "method": method, "params": params}))
    while "id" not in (answer := json.loads(devtools.recv())):
        pass
    return answer["result"]

def shown(script, place):
    call("Runtime.evaluate", expression=script)
    look = "location.href.includes('%s') && document.readyState == 'complete' && document.body.innerText" % place
    while not (text := call("Runtime.evaluate", expression=look)["result"].get("value")):
        time.sleep(0.05)
    return text

seed = next(word for word in sys.argv if word.startswith("--url="))[6:]
seen = {"page": shown(f"location.href = '{seed}'", "/article")}
seen["port"] = shown(f"location.href = 'http://127.0.0.1:{port}/json/version'", "/json/version")
seen["name"] = shown(f"location.href = 'http://localhost:{port}/json/list'", "/json/list")
open("seen.json", "w").write(json.dumps(seen))
"""


def test_a_page_in_somebody_elses_chrome_does_not_reach_its_devtools_port(home: Home, site: Site) -> None:
    home.env["PRIVATE_NETWORK_ALLOWLIST"] = ""
    plugin = home.data / "plugins" / "theirs"
    plugin.mkdir(parents=True)
    (plugin / "on_Crawl__10_launch.bg.sh").write_text(LAUNCH)
    (plugin / "on_Snapshot__60_ask.py").write_text(ASK)
    home.type("add", "--plugins", "theirs", site.url_for("/article"))
    (snapshot,) = home.snapshots().values()
    seen = json.loads((snapshot / "theirs" / "seen.json").read_text())
    assert "On Keeping Pages" in seen["page"]
    assert "it is on a private network" in seen["port"]
    assert "it is on a private network" in seen["name"]
