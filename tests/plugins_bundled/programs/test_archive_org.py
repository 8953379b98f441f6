"""Save Page Now, spoken with a stand-in that answers as its documentation says the archive does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

import pytest

from tests.loopback import serving

pytestmark = pytest.mark.default

if TYPE_CHECKING:
    from tests.plugins_bundled.programs.conftest import Page

KEY = "access:secret-key"
COPY = "/web/20260102030405/"


class StandIn(BaseHTTPRequestHandler):
    """Saves what is asked for, but for addresses that name a trouble."""

    def do_POST(self) -> None:
        if self.headers["Authorization"] != f"LOW {KEY}" or self.headers["Accept"] != "application/json":
            return self.answer(401, {"message": "You need to be logged in to use Save Page Now."})
        (url,) = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())["url"]
        return self.answer(200, {"url": url, "job_id": f"spn2-{'blocked' if 'blocked' in url else 'ok'}"})

    def do_GET(self) -> None:
        if self.path.startswith("/save/status/"):
            return self.answer(200, self.job(self.path.rpartition("/")[2]))
        if self.path.startswith("/save/") and "busy" in self.path:
            return self.answer(429, {})
        if self.path.startswith("/save/") and "blocked" in self.path:
            return self.answer(403, {}, **{"X-Archive-Wayback-Runtime-Error": "AdministrativeAccessControlException"})
        if self.path.startswith("/save/"):
            return self.answer(302, {}, Location=COPY + self.path.removeprefix("/save/"))
        return self.answer(200, {})

    @staticmethod
    def job(name: str) -> dict[str, str]:
        if name == "spn2-blocked":
            return {"status": "error", "status_ext": "error:blocked-url", "message": "This URL is in our block list."}
        return {"status": "success", "timestamp": "20260102030405", "original_url": "https://one.test/"}

    def answer(self, status: int, document: dict[str, str], **headers: str) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (its name in http.server)
        """Nothing is said."""


@pytest.fixture(scope="module")
def archive() -> Iterator[str]:
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), StandIn)) as url:
        yield url


@pytest.mark.parametrize("key", ["", KEY])
def test_the_address_of_the_copy_is_kept(page: Page, archive: str, key: str) -> None:
    run = page.run("archive_org", "https://one.test/", ARCHIVE_ORG_ENDPOINT=archive, ARCHIVE_ORG_KEY=key)

    assert run.result["output_str"] == f"{archive}{COPY}https://one.test/"
    assert (run.folder / "archive.org.txt").read_text() == f"{archive}{COPY}https://one.test/\n"


@pytest.mark.parametrize(
    ("path", "key", "outcome"),
    [
        ("/blocked", "", ("failed", "AdministrativeAccessControlException")),
        ("/blocked", KEY, ("failed", "This URL is in our block list.")),
        ("/", "access:wrong", ("failed", "it answered 401 Unauthorized")),
        ("/busy", "", ("later", "it answered 429 Too Many Requests")),
    ],
)
def test_what_the_archive_says_is_told(page: Page, archive: str, path: str, key: str, outcome: tuple[str, str]) -> None:
    settings = {"ARCHIVE_ORG_ENDPOINT": archive, "ARCHIVE_ORG_KEY": key}
    run = page.run("archive_org", f"https://one.test{path}", **settings)

    assert (run.status, run.result["output_str"].partition(": ")[2]) == outcome
    assert run.files == []


def test_an_archive_that_is_away_is_asked_later(page: Page) -> None:
    assert page.run("archive_org", "https://one.test/", ARCHIVE_ORG_ENDPOINT="http://127.0.0.1:9").status == "later"
