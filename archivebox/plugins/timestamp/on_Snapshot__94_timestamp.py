#!/usr/bin/env python3
"""Keeps what an authority certifies: that the hashes of the page were there at this time."""

from pathlib import Path

from authority import AwayError, TimestampRefusedError, stamp_of

from archivebox.plugins.base import (
    Settings,
    failed,
    misconfigured,
    noresults,
    on_stop,
    succeeded,
    try_again,
    write_atomically,
)
from archivebox.plugins.base.hook import remove

HASHES = Path("..", "hashes", "hashes.json")
OUTPUT = "hashes.tsr"


def main() -> None:
    settings = Settings()
    on_stop(lambda: try_again("Told to stop before the authority answered."))
    url = settings.str("TIMESTAMP_URL")
    if not url:
        misconfigured("No authority is named. Set one: archivebox config set TIMESTAMP_URL=…")
    if not HASHES.is_file():
        noresults("there are no hashes to stamp")
    remove(OUTPUT)  # it speaks of the hashes before
    try:
        stamp = stamp_of(HASHES.read_bytes(), url, settings.timeout("TIMESTAMP") * 0.9)
    except AwayError as error:
        try_again(f"The authority at TIMESTAMP_URL gave no time stamp now: {error}")
    except TimestampRefusedError as error:
        failed(f"The authority at TIMESTAMP_URL gave no time stamp: {error}")
    write_atomically(OUTPUT, stamp.as_bytes())
    succeeded(OUTPUT, {"stamped_at": stamp.tst_info.gen_time.isoformat(timespec="seconds")})


if __name__ == "__main__":
    main()
