#!/usr/bin/env python3
"""Saves the letters of a forum's thread or a mailing list as data, and as text for search, by forum-dl."""

import json
import re
from pathlib import Path
from typing import Any, NoReturn

from archivebox.plugins.base import (
    Finished,
    Hook,
    Settings,
    find_program,
    misconfigured,
    noresults,
    on_stop,
    succeeded,
    try_again,
)
from archivebox.plugins.base.download import download, partial_folder, put_in_place, time_to_download

POSTS, TEXT = "posts.jsonl", "posts.txt"
USAGE_ERROR = 2
MAX_SIZE = 100_000_000  # bytes of a thread, which is text
PASSING = re.compile(r"ConnectionError|Timeout|HTTPError: 5\d\d|Max retries", re.IGNORECASE)
MARKS = re.compile(r"<[^>]*>")


def main() -> None:
    hook, settings = Hook.from_argv(), Settings()
    on_stop(lambda: try_again("Told to stop before the thread was saved."))
    with partial_folder() as folder:
        done = download(
            build(settings, hook.url), folder, limit=MAX_SIZE, timeout=time_to_download(settings, "FORUMDL")
        )
        conclude(done, folder)


def build(settings: Settings, url: str) -> list[str]:
    """The argv; the URL comes after `--`, so that it is never an option."""
    agent = settings.str("USER_AGENT")
    return [
        find_program(settings.str("FORUMDL_BINARY")),
        *settings.list("FORUMDL_ARGS"),
        *([f"--user-agent={agent}"] if agent else []),
        *settings.list("FORUMDL_ARGS_EXTRA"),
        "--output-format=jsonl",
        f"--output={POSTS}",
        "--",
        url,
    ]


def conclude(done: Finished, folder: Path) -> NoReturn:
    """What came before an end is kept: a thread may be longer than our time or size."""
    records = whole_lines(folder / POSTS)
    posts = [record["item"] for record in records if record.get("type") == "post"]
    if not posts:
        report_failure(done)
    (folder / POSTS).write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records))
    (folder / TEXT).write_text("\n".join(map(text_of, posts)))
    put_in_place([folder / POSTS, folder / TEXT], folder)
    succeeded(POSTS, {"posts": len(posts), "complete": done.returncode == 0})


def whole_lines(path: Path) -> list[dict[str, Any]]:
    """The records of a file whose last line may have been cut off."""
    lines = path.read_bytes().splitlines(keepends=True) if path.is_file() else []
    return [json.loads(line) for line in lines if line.endswith(b"\n")]


def text_of(post: dict[str, str]) -> str:
    return f"{post.get('author') or ''}\n{MARKS.sub('', post.get('content') or '').strip()}\n"


def report_failure(done: Finished) -> NoReturn:
    if done.timed_out:
        try_again("The download took too long: raise FORUMDL_TIMEOUT")
    if done.returncode == USAGE_ERROR:
        misconfigured("forum-dl does not understand its options: look at FORUMDL_ARGS and FORUMDL_ARGS_EXTRA")
    if PASSING.search(done.stderr):
        try_again("forum-dl could not reach the forum")
    noresults("forum-dl found no thread")


if __name__ == "__main__":
    main()
