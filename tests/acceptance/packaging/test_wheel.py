"""The package archives and shows pages on a machine that has no checkout, as pipx and uv install it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from archivebox import __version__
from tests.site.serve import Site

CHECKOUT = Path(__file__).parents[3]
PATIENCE = 240.0
"""Seconds for a step on a loaded machine."""
UV = Path(sys.executable).with_name("uv")
"""Builds and installs in a fifth of pip's time, side by side and without writing bytecode."""
LOCK = CHECKOUT / "requirements.lock"
PLUGINS = "title,dom,trafilatura"
"""The last one's hooks have a Python environment of their own, which is made here."""


class Installed:
    """The program in an environment of its own, typed in a folder that has nothing."""

    def __init__(self, program: Path, home: Path) -> None:
        self.program = program
        self.python = program.resolve().with_name("python")
        self.home = home
        ours = ("ARCHIVEBOX_", "DJANGO_", "PYTHON", "DATA", "LIB_DIR")
        self._env = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        self._env |= {f"XDG_{kind}_HOME": str(home / kind.lower()) for kind in ("DATA", "STATE", "CACHE")}

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [self.program, *words],
            cwd=self.home,
            env=self._env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def type(self, *words: str) -> str:
        """What one command printed to stdout; it must have succeeded."""
        out, err = self.start(*words).communicate(timeout=PATIENCE)
        assert out, err
        return out

    def records(self, *words: str) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.type(*words).splitlines()]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built of a copy, as a build leaves its own folders beside what it builds."""
    source, built = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(CHECKOUT / "archivebox", source / "archivebox", ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(CHECKOUT / name, source)
    uv("build", "--wheel", f"--out-dir={built}", source)
    (only,) = built.glob("*.whl")
    return only


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """By `uv tool install`: with the libraries that the package asks for, in the versions of the lock file."""
    tools, home = tmp_path_factory.mktemp("tools"), tmp_path_factory.mktemp("home")
    words = ("--no-build", f"--python={sys.executable}", f"--constraints={LOCK}")
    uv("tool", "install", *words, wheel, UV_TOOL_DIR=str(tools), UV_TOOL_BIN_DIR=str(tools / "bin"))
    return Installed(tools / "bin" / "archivebox", home)


def uv(*words: str | Path, **variables: str) -> None:
    """Run one of its commands; a slow registry has three minutes for each answer."""
    env = {"UV_HTTP_TIMEOUT": "180", **os.environ, **variables}
    subprocess.run([UV, "--quiet", *words], check=True, timeout=PATIENCE, env=env)


def test_the_package_brings_every_file_of_the_program(wheel: Path, tmp_path: Path) -> None:
    shutil.unpack_archive(wheel, tmp_path, "zip")
    ours = CHECKOUT / "archivebox"
    wanted = {str(path.relative_to(ours)) for path in ours.rglob("*") if path.is_file()}
    brought = {str(path.relative_to(tmp_path / "archivebox")) for path in (tmp_path / "archivebox").rglob("*")}
    assert {path for path in wanted - brought if "__pycache__" not in path} == set()


def test_it_says_its_version_and_runs_from_its_own_folder(installed: Installed) -> None:
    assert installed.type("version") == f"archivebox {__version__}\n"
    asked = "import archivebox, importlib.metadata as m; print(archivebox.__file__, m.version('archivebox'))"
    file, version = subprocess.check_output([installed.python, "-I", "-c", asked], text=True).split()
    assert Path(file).is_relative_to(installed.python.parents[1])
    assert version == __version__


def test_pipx_installs_it_and_puts_it_on_the_path(wheel: Path, tmp_path: Path) -> None:
    """With uv behind it, which takes a fifth of the time of its other one, pip."""
    words = ("install", "--quiet", "--backend=uv", f"--python={sys.executable}", f"--pip-args=--constraints={LOCK}")
    home, commands = tmp_path / "pipx", tmp_path / "bin"
    uv("tool", "run", "--from=pipx[uv]", "pipx", *words, wheel, PIPX_HOME=str(home), PIPX_BIN_DIR=str(commands))
    assert Installed(commands / "archivebox", tmp_path).type("version") == f"archivebox {__version__}\n"


@pytest.mark.browser
@pytest.mark.slow
def test_it_archives_a_page_and_serves_it(installed: Installed, site: Site) -> None:
    installed.type("init")
    *_, snapshot, summary = installed.records("add", f"--plugins={PLUGINS}", f"{site.url}/")
    assert summary["exit_code"] == 0, summary
    shown = installed.records("snapshot", "show", str(snapshot["id"]))
    succeeded = {record["plugin"] for record in shown if record.get("status") == "succeeded" and "plugin" in record}
    assert set(PLUGINS.split(",")) <= succeeded, shown
    with serving(installed) as url:
        page = urllib.request.urlopen(f"{url}/", timeout=60).read().decode()
        style = re.search(r'href="(/static/[^"]+\.css[^"]*)"', page)
        assert style, page
        assert urllib.request.urlopen(url + style[1], timeout=60).status == 200


@contextmanager
def serving(installed: Installed) -> Iterator[str]:
    """The address of its server, which is ended."""
    with closing(socket.socket()) as app, closing(socket.socket()) as pages:
        app.bind(("127.0.0.1", 0))
        pages.bind(("127.0.0.1", 0))
        ports = app.getsockname()[1], pages.getsockname()[1]
    url = f"http://127.0.0.1:{ports[0]}"
    server = installed.start("server", f"--bind=127.0.0.1:{ports[0]}", f"--replay=127.0.0.1:{ports[1]}")
    try:
        wait_until_healthy(url, server)
        yield url
    finally:
        server.send_signal(signal.SIGTERM)
        _, err = server.communicate(timeout=PATIENCE)
    assert server.returncode == 128 + signal.SIGTERM, err


def wait_until_healthy(url: str, server: subprocess.Popen[str]) -> None:
    end = time.monotonic() + PATIENCE
    while server.poll() is None and time.monotonic() < end:
        try:
            urllib.request.urlopen(f"{url}/health/", timeout=5).close()
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.1)
        else:
            return
    raise AssertionError(f"{url} does not answer")
