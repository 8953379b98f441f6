"""Browser plugins of earlier ArchiveBoxes, unmodified as their packages bring them, in the place of ours."""

from __future__ import annotations

import json
import os
import platform
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from archivebox.contract.binaries import BinaryRequest
from tests.acceptance.archive.conftest import Home
from tests.programs import Programs
from tests.site.serve import Site

if TYPE_CHECKING:
    from sqlite3 import Row

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not on this machine"),
]

PLUGINS = "puppeteer,chrome,screenshot,pdf,dom,title"
LIBRARIES = ["puppeteer", "@puppeteer/browsers", "abxbus"]
NODES = {"20": "20.20.2", "22": "22.23.3"}
NO_SANDBOX = {"CHROME_SANDBOX": "false", "CHROME_ARGS_EXTRA": '["--no-sandbox"]'}
"""As root and in containers; each of the two dialects knows one of them."""


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


@pytest.mark.parametrize("node", ["20", "22"])
@pytest.mark.parametrize("family", [OLDER, NEWER], ids=["older", "newer"])
def test_the_browser_plugins_of_a_dialect_run_unmodified(
    home: Home, site: Site, programs: Programs, family: Family, node: str
) -> None:
    home.env |= programs.environment | NO_SANDBOX | {"PRIVATE_NETWORK_ALLOWLIST": ""}
    home.env["PATH"] = f"{install_node(programs, node)}{os.pathsep}{home.env['PATH']}"
    put_in(home, install_family(programs, family.version))
    code, _ = home.type("add", "--plugins", PLUGINS, site.url_for("/article"))
    results = home.rows("SELECT hook_name, status, reason, output_str FROM core_archiveresult")
    assert {row["hook_name"]: row["status"] for row in results} == family.ends, [tuple(row) for row in results]
    assert code == 0
    launches = home.rows(f"SELECT exit_code, end_reason FROM machine_process WHERE hook_name = '{family.launch}'")
    assert [(row["exit_code"], row["end_reason"]) for row in launches] == [(0, "sealed")]
    (page,) = home.snapshots().values()
    assert "On Keeping Pages" in (page / "dom" / "output.html").read_text()
    assert (page / "pdf" / "output.pdf").read_bytes().startswith(b"%PDF")
    assert (page / "screenshot" / "screenshot.png").read_bytes().startswith(b"\x89PNG")
    assert not home.wait_until_nothing_runs()


@pytest.mark.parametrize("node", ["20", "22"])
def test_singlefile_of_the_newer_dialect_runs_unmodified(home: Home, site: Site, programs: Programs, node: str) -> None:
    """What it imports comes before the page is opened. Without SingleFile's extension it takes single-file-cli."""
    result = save_as_one_file(home, site, programs, NEWER, node)
    assert result["status"] == "succeeded", tuple(result)
    (page,) = home.snapshots().values()
    assert "On Keeping Pages" in (page / "singlefile" / "singlefile.html").read_text()
    assert not home.wait_until_nothing_runs()


def test_singlefile_of_the_older_dialect_ends_as_its_author_wrote(home: Home, site: Site, programs: Programs) -> None:
    """It saves by an extension from Chrome's store alone, which cannot be had here, and fails with that sentence."""
    result = save_as_one_file(home, site, programs, OLDER, "20")
    assert (result["status"], result["reason"]) == ("failed", "declared"), tuple(result)
    assert result["output_str"].endswith("SingleFile extension not installed")
    assert not home.wait_until_nothing_runs()


def save_as_one_file(home: Home, site: Site, programs: Programs, family: Family, node: str) -> Row:
    """What singlefile of a family comes to."""
    browser = f"--browser-executable-path={shutil.which('chromium')}"
    home.env |= programs.environment | NO_SANDBOX | {"PRIVATE_NETWORK_ALLOWLIST": ""}
    home.env["SINGLEFILE_ARGS_EXTRA"] = json.dumps([browser])
    home.env["PATH"] = f"{install_node(programs, node)}{os.pathsep}{home.env['PATH']}"
    put_in(home, install_family(programs, family.version))
    home.type("add", "--plugins", "puppeteer,chrome,singlefile", site.url_for("/article"))
    (result,) = home.rows("SELECT status, reason, output_str FROM core_archiveresult WHERE plugin = 'singlefile'")
    found: Row = result
    return found
