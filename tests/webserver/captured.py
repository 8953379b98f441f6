"""Owns pages of the local web that were captured for real, and the server that shows them to a browser."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.empty import make_empty
from tests.site.serve import Site
from tests.webserver.browser import Browser
from tests.webserver.rows import NAME, PASSWORD
from tests.webserver.server import CHECKOUT, Server, Visitor, environment, in_collection

ADMINISTRATOR = """
import sys
from django.contrib.auth.models import User
User.objects.create_superuser(sys.argv[1], password=sys.argv[2])
"""


@dataclass
class Captured:
    """A collection with pages of the local web, and the server that shows them."""

    site: Site
    server: Server
    browser: Browser
    """Logged in."""

    def address(self, path: str) -> str:
        return f"{self.server.url}/web/latest/{self.site.url_for(path)}"

    def run(self, path: str) -> None:
        """Show a page with its scripts."""
        self.browser.go(self.address(path))
        self.browser.value("document.querySelector('button[name=scripts]').click()")
        self.browser.wait_for("document.querySelector('iframe')?.sandbox.contains('allow-scripts')")


@contextmanager
def captured_pages(folder: Path, browser: Browser, plugins: str, paths: Sequence[str]) -> Iterator[Captured]:
    """In one crawl, by these plugins; the site has not been asked since."""
    make_empty(folder)
    with Site() as site:
        command = [sys.executable, "-m", "archivebox", "add", "--plugins", plugins, *map(site.url_for, paths)]
        env = environment(folder, PRIVATE_NETWORK_ALLOWLIST="127.0.0.0/8,::1")
        env["DJANGO_SETTINGS_MODULE"] = "archivebox.config.settings"
        done = subprocess.run(command, env=env, cwd=CHECKOUT, capture_output=True, text=True, timeout=900, check=False)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        in_collection(folder, ADMINISTRATOR, NAME, PASSWORD)
        with Server(folder) as server:
            visitor = Visitor(server)
            assert visitor.log_in(NAME, PASSWORD).status == 302
            for name, value in visitor.jar.items():
                browser.set_cookie(server.url, name, value)
            site.forget()
            yield Captured(site, server, browser)
