"""Owns the command line of the local web, the pages that tests archive: `python3 tests/site/serve.py`."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

if __name__ == "__main__":  # a script does not have the folder above `tests` on its path
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.site.server import Hit, Site

__all__ = ["Hit", "Site"]


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Serve the local web until TERM or INT; its URL is printed when ready."
    )
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--print-url", action="store_true", help="print the URL and nothing else")
    options = parser.parse_args()
    ends = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)  # before any thread: they inherit it, so sigwait gets the signal
    with Site(options.host, options.port) as site:
        print(site.url, flush=True)
        if not options.print_url:
            print(f"also on {site.other_url} and {site.third_url}", file=sys.stderr, flush=True)
        signal.sigwait(ends)
    return 0


if __name__ == "__main__":
    sys.exit(main())
