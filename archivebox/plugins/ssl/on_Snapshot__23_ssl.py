#!/usr/bin/env python3
"""Keep how the connection to the page's own host was secured, as the browser told the recorder."""

from __future__ import annotations

import json

from archivebox.plugins.base import noresults, succeeded, write_atomically
from archivebox.plugins.base.responses import Archive

FILE = "ssl.json"


def main() -> None:
    documents = [each for each in Archive().or_skip().latest() if each.is_main and each.record.get("tls")]
    if not documents:
        noresults("no document of the page came over TLS")
    tls = documents[-1].record["tls"]
    write_atomically(FILE, json.dumps({"url": documents[-1].url, **tls}, indent=2) + "\n")
    succeeded(f"{tls['protocol']}, issued by {tls['issuer']} for {tls['subjectName']}")


if __name__ == "__main__":
    main()
