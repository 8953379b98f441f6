"""How a connection was secured is kept, beside what came over it."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.loopback import serving
from tests.plugins_bundled.browser.chain import NAVIGATE, Crawl
from tests.site import serve

PAGE = b"<!doctype html><title>Over TLS</title><p>nobody listens in"
CERTIFICATE = Path(serve.__file__).with_name("tls.pem")
"""A key and a certificate for 127.0.0.1 that it signed itself, good for a hundred years and for nothing else."""


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, *_: object) -> None:
        """Tests read no access log."""


@pytest.fixture(scope="module")
def secured() -> Iterator[str]:
    server, context = ThreadingHTTPServer(("127.0.0.1", 0), Handler), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    with serving(server) as url:
        yield url.replace("http:", "https:") + "/"


@pytest.mark.browser
def test_the_certificate_and_the_protocol_are_kept(tmp_path: Path, secured: str) -> None:
    with Crawl(tmp_path, TIMEOUT="30", CHECK_SSL_VALIDITY="false") as crawl:
        snapshot = crawl.snapshot("page", secured)
        recorder = snapshot.record()
        assert snapshot.run(NAVIGATE).status == "succeeded"
        assert recorder.stop().status == "succeeded"
        kept = snapshot.run("ssl/on_Snapshot__23_ssl.py")
        snapshot.close()
    assert kept.status == "succeeded"
    record = json.loads((snapshot.folder / "ssl" / "ssl.json").read_text())
    assert (record["url"], record["protocol"], record["subjectName"]) == (secured, "TLS 1.3", "The Local Web")
    assert "127.0.0.1" in record["sanList"]
