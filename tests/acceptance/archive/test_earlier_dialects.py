"""Browser plugins of earlier ArchiveBoxes, unmodified as their packages bring them, in the place of ours."""

from __future__ import annotations

import json
import os
import platform
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from archivebox.contract.binaries import BinaryRequest
from tests.acceptance.archive.conftest import Home
from tests.programs import Programs
from tests.site.serve import Site

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not on this machine"),
]

PLUGINS = "puppeteer,chrome,singlefile,screenshot,pdf,dom,title"
LIBRARIES = ["puppeteer", "@puppeteer/browsers", "abxbus"]
NODES = {"20": "20.20.2", "22": "22.23.3"}
NO_SANDBOX = {"CHROME_SANDBOX": "false", "CHROME_ARGS_EXTRA": '["--no-sandbox"]'}
"""As root and in containers; each of the two dialects knows one of them."""


NO_EXTENSION = "SingleFile extension not installed"
"""What the older singlefile fails with: it saves by an extension from Chrome's store alone, which is not to be had."""


MOST_RETRIES = 2


class Family(NamedTuple):
    """A package, the hook of its that holds the browser, and how its hooks of a page end."""

    version: str
    launch: str
    ends: dict[str, str]


OLDER = Family(
    "0.9.0",
    "on_Crawl__90_chrome_launch.bg.js",
    {
        "on_Snapshot__10_chrome_tab.bg.js": "noresults",  # it says nothing, and its files may be chrome_wait's
        "on_Snapshot__11_chrome_wait.js": "succeeded",
        "on_Snapshot__30_chrome_navigate.js": "succeeded",
        "on_Snapshot__50_singlefile.py": "failed",  # as its author wrote: see NO_EXTENSION
        "on_Snapshot__51_screenshot.js": "succeeded",
        "on_Snapshot__52_pdf.js": "succeeded",
        "on_Snapshot__53_dom.js": "succeeded",
        "on_Snapshot__54_title.js": "succeeded",
    },
)
NEWER = Family(
    "1.11.86",
    "on_CrawlSetup__90_chrome_launch.daemon.bg.js",
    {
        "on_Snapshot__09_chrome_launch.daemon.bg.js": "skipped",  # the crawl has launched one
        "on_Snapshot__10_chrome_tab.daemon.bg.js": "succeeded",
        "on_Snapshot__11_chrome_wait.js": "succeeded",
        "on_Snapshot__30_chrome_navigate.js": "succeeded",
        "on_Snapshot__50_singlefile.py": "succeeded",  # without SingleFile's extension it takes single-file-cli
        "on_Snapshot__51_screenshot.js": "succeeded",
        "on_Snapshot__52_pdf.js": "succeeded",
        "on_Snapshot__53_dom.js": "succeeded",
        "on_Snapshot__54_title.js": "succeeded",
    },
)


def install_family(programs: Programs, version: str) -> Path:
    """The folder of plugins in an environment that has nothing but that package."""
    options: dict[str, Any] = {
        "packages": [f"abx-plugins=={version}"],
        "names": ["python"],
        "args": ["--no-deps", "--ignore-requires-python"],
    }
    python = Path(programs.ask(BinaryRequest(f"abx-plugins-{version}", ("pip",), {"pip": options})))
    (folder,) = python.parents[1].glob("lib/python3*/site-packages/abx_plugins/plugins")
    return folder


def install_node(programs: Programs, major: str) -> Path:
    """The folder of a Node of that version."""
    machine = "arm64" if platform.machine() in {"arm64", "aarch64"} else "x64"
    package = f"node{major}@npm:node-{platform.system().lower()}-{machine}@{NODES[major]}"
    options: dict[str, Any] = {"packages": [package], "library": True}
    found = programs.ask(BinaryRequest(f"node{major}", ("npm",), {"npm": options}))
    return Path(found).parent / "bin"


def put_in(home: Home, plugins: Path) -> None:
    """All plugins of the package, those that install programs too; what its registry has no more is named anew."""
    for plugin in plugins.iterdir():
        if plugin.is_dir():
            shutil.copytree(plugin, home.data / "plugins" / plugin.name, ignore=shutil.ignore_patterns("__pycache__"))
    asked = {"name": "puppeteer", "binproviders": "npm", "overrides": {"npm": {"install_args": LIBRARIES}}}
    config = home.data / "plugins" / "puppeteer" / "config.json"
    config.write_text(json.dumps({"required_binaries": [asked]}))


def archive(home: Home, url: str) -> tuple[int, list[Any]]:
    """Archive a page, and try again what failed by the limits of these hooks' own, which no busy machine extends.

    That of singlefile gives its program 25 s of its minute, and a semaphore that it shares with others' 15 s.
    """
    code, _ = home.type("add", "--plugins", PLUGINS, url)
    for _ in range(MOST_RETRIES):
        if not home.rows("SELECT id FROM core_archiveresult WHERE status = 'backoff'"):
            break
        print(home.describe())
        code, _ = home.type("update", "--all")
    return code, home.rows("SELECT plugin, hook_name, status, reason, output_str FROM core_archiveresult")


@pytest.mark.parametrize("node", ["20", "22"])
@pytest.mark.parametrize("family", [OLDER, NEWER], ids=["older", "newer"])
def test_the_browser_plugins_of_a_dialect_run_unmodified(
    home: Home, site: Site, programs: Programs, family: Family, node: str
) -> None:
    browser = f"--browser-executable-path={shutil.which('chromium')}"
    home.env |= programs.environment | NO_SANDBOX | {"PRIVATE_NETWORK_ALLOWLIST": ""}
    home.env["SINGLEFILE_ARGS_EXTRA"] = json.dumps([browser])
    home.env["PATH"] = f"{install_node(programs, node)}{os.pathsep}{home.env['PATH']}"
    put_in(home, install_family(programs, family.version))
    code, results = archive(home, site.url_for("/article"))
    assert {row["hook_name"]: row["status"] for row in results} == family.ends, home.describe()
    assert code == 0
    launches = home.rows(f"SELECT exit_code, end_reason FROM machine_process WHERE hook_name = '{family.launch}'")
    assert {(row["exit_code"], row["end_reason"]) for row in launches} == {(0, "sealed")}
    (page,) = home.snapshots().values()
    assert "On Keeping Pages" in (page / "dom" / "output.html").read_text()
    assert (page / "pdf" / "output.pdf").read_bytes().startswith(b"%PDF")
    assert (page / "screenshot" / "screenshot.png").read_bytes().startswith(b"\x89PNG")
    (as_one_file,) = (row for row in results if row["plugin"] == "singlefile")
    if as_one_file["status"] == "succeeded":
        assert "On Keeping Pages" in (page / "singlefile" / "singlefile.html").read_text()
    else:
        assert as_one_file["reason"] == "declared", tuple(as_one_file)
        assert as_one_file["output_str"].endswith(NO_EXTENSION)
    assert not home.wait_until_nothing_runs()
