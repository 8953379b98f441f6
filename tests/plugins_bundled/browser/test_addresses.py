"""The recorder says of a host where it answered, and of a refused connection why it was refused."""

from __future__ import annotations

import json
from pathlib import Path

from archivebox.plugins.responses.recorder.addresses import Addresses

SOCKS = "net::ERR_SOCKS_CONNECTION_FAILED"


def test_a_connection_that_the_proxy_did_not_make_has_its_sentence(tmp_path: Path) -> None:
    (tmp_path / "egress").mkdir()
    log, addresses = tmp_path / "egress" / "connections.jsonl", Addresses(str(tmp_path))
    assert addresses.explain(SOCKS, "http://a.example/") == SOCKS, "nothing is known yet"
    lines = [
        {"event": "connected", "host": "b.example", "port": 443, "connection": 1, "address": "192.0.2.1"},
        {"event": "refused", "host": "a.example", "port": 80, "reason": "private_address", "message": "It is private."},
        {"event": "closed", "host": "b.example", "port": 443, "connection": 1, "sent": 1, "received": 1},
    ]
    torn = '{"event": "connected", "host": "b.exa' + json.dumps(lines[0]) + "\n"
    log.write_text(torn + "".join(json.dumps(line) + "\n" for line in lines))
    assert addresses.explain(SOCKS, "http://a.example/x") == "It is private."
    assert addresses.explain(SOCKS, "https://a.example/x") == SOCKS
    assert addresses.explain("net::ERR_ABORTED", "http://a.example/x") == "net::ERR_ABORTED"
    assert addresses.of("https://b.example/", "") == "192.0.2.1"
