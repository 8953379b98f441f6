#!/usr/bin/env python3
"""Saves all pictures of a gallery in full size, with what the site says of each, by gallery-dl."""

import re
from pathlib import Path
from typing import NoReturn

from archivebox.plugins.base import (
    Finished,
    Hook,
    Settings,
    failed,
    find_program,
    misconfigured,
    noresults,
    on_stop,
    succeeded,
    try_again,
)
from archivebox.plugins.base.download import (
    download,
    lend_cookies,
    partial_folder,
    put_in_place,
    time_to_download,
    visible_files,
)

# Exit statuses, which add up (gallery-dl's exception.py).
USAGE_ERROR, NOT_FOUND, LOGIN, UNSUPPORTED = 2, 8, 16, 64
ERROR = re.compile(r"^\[[^\]]+\]\[error\] (.*)$", re.MULTILINE)
PASSING = re.compile(r"timed? ?out|'(408|425|429|5\d\d) |resolve|connection", re.IGNORECASE)


def main() -> None:
    hook, settings = Hook.from_argv(), Settings()
    on_stop(lambda: try_again("Told to stop before the gallery was saved."))
    with partial_folder() as folder:
        limit = settings.size("GALLERYDL_MAX_SIZE")
        command = build(settings, limit, lend_cookies(settings.path("COOKIES_FILE"), folder), hook.url)
        done = download(command, folder, limit=limit, timeout=time_to_download(settings, "GALLERYDL"))
        conclude(done, folder)


def build(settings: Settings, limit: int, cookies: str, url: str) -> list[str]:
    """The argv; the URL comes after `--`, so that it is never an option."""
    agent = settings.str("USER_AGENT")
    return [
        find_program(settings.str("GALLERYDL_BINARY")),
        *settings.list("GALLERYDL_ARGS"),
        f"--range=1-{settings.int('GALLERYDL_MAX_FILES')}",
        *([f"--filesize-max={limit}"] if limit else []),
        *([f"--user-agent={agent}"] if agent else []),
        *([f"--cookies={cookies}"] if cookies else []),
        *([] if settings.bool("CHECK_SSL_VALIDITY") else ["--no-check-certificate"]),
        *settings.list("GALLERYDL_ARGS_EXTRA"),
        "--config-ignore",
        "--no-input",
        "--no-colors",
        "--destination=.",
        "--",
        url,
    ]


def conclude(done: Finished, folder: Path) -> NoReturn:
    files = visible_files(folder)
    pictures = [str(path.relative_to(folder)) for path in files if path.suffix != ".json"]
    if not pictures:
        report_failure(done)
    kept = put_in_place(files, folder)
    whole = done.returncode == 0
    succeeded(pictures[0], {"pictures": len(pictures), "files": len(kept), "complete": whole})


def report_failure(done: Finished) -> NoReturn:
    if done.timed_out:
        try_again("The download took too long: raise GALLERYDL_TIMEOUT")
    if done.returncode == USAGE_ERROR:
        misconfigured("gallery-dl does not understand its options: look at GALLERYDL_ARGS and GALLERYDL_ARGS_EXTRA")
    if done.returncode in (0, UNSUPPORTED):
        noresults("gallery-dl found no gallery")
    errors = ERROR.findall(done.stderr)
    sentence = errors[-1][:300] if errors else f"gallery-dl ended with {done.returncode}"
    if done.returncode & (NOT_FOUND | LOGIN) or not PASSING.search(done.stderr):
        failed(sentence)
    try_again(sentence)


if __name__ == "__main__":
    main()
