"""Repositories over git's own protocol in HTTP, which sites speak (the local web has one over dumb HTTP)."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from archivebox.contract.discovery import BUNDLED
from tests.loopback import serving
from tests.site.gitrepo import make_repository

pytestmark = pytest.mark.default

if TYPE_CHECKING:
    from tests.plugins_bundled.programs.conftest import Page, WayOut


class Backend(BaseHTTPRequestHandler):
    """Runs `git http-backend` (its manual page names the variables) for every request."""

    root = ""

    def serve(self) -> None:
        path, _, query = self.path.partition("?")
        env = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": self.root,
            "GIT_HTTP_EXPORT_ALL": "1",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        done = subprocess.run(["git", "http-backend"], input=body, env=env, capture_output=True, check=True)
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().splitlines())
        self.send_response(int(headers.pop("Status", "200").split()[0]))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = serve  # noqa: N815  (names of http.server)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (its name in http.server)
        """Nothing is said."""


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The local repository with 200 KB that cannot be packed smaller, at an address of its own."""
    folder = make_repository(tmp_path_factory.mktemp("repositories"))
    assert folder is not None
    noise = b"commit refs/heads/main\ncommitter L <l@example.org> 1700009999 +0000\ndata 1\n.\nfrom refs/heads/main^0\n"
    noise += b"M 100644 inline noise\ndata 200000\n" + os.urandom(200_000) + b"\n"
    command = ["git", "-C", str(folder / "repo.git"), "fast-import", "--quiet"]
    subprocess.run(command, input=noise, check=True, capture_output=True)
    handler = type("Here", (Backend,), {"root": str(folder)})
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), handler)) as url:
        yield f"{url}/repo.git"


@pytest.fixture
def git(page: Page) -> Page:
    page.environment |= {"HOOK_BASE": str(BUNDLED / "base")}
    return page


def commits(folder: Path) -> int:
    counted = subprocess.run(
        ["git", "-C", str(folder), "rev-list", "--count", "main"], capture_output=True, text=True, check=True
    )
    return int(counted.stdout)


def test_a_repository_comes_whole_or_as_new_as_is_asked(git: Page, repository: str) -> None:
    assert git.run("git", repository).status == "succeeded"
    assert commits(git.folder / "git" / "repo.git") == 4

    assert git.run("git", repository, GIT_ARGS_EXTRA='["--depth=1"]').status == "succeeded"
    assert commits(git.folder / "git" / "repo.git") == 1


def test_a_repository_above_the_limit_is_not_kept(git: Page, repository: str) -> None:
    run = git.run("git", repository, GIT_MAX_SIZE="50k")

    assert (run.result["status"], list(run.folder.iterdir())) == ("failed", []), run.stderr
    assert "GIT_MAX_SIZE" in run.result["output_str"]


def test_git_goes_the_way_out_that_is_named(git: Page, repository: str, crawl_port: WayOut) -> None:
    assert git.run("git", repository, **crawl_port.environment).status != "succeeded"
    assert crawl_port.asked[0].startswith(repository)
