#!/usr/bin/env python3
"""Saves the PDF of a paper that the address names by its DOI or arXiv number, by papers-dl."""

import os
from pathlib import Path
from typing import NoReturn

from identifiers import identifier_of

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
from archivebox.plugins.base.download import (
    download,
    partial_folder,
    put_in_place,
    time_to_download,
    visible_files,
)

PROXIED = Path(__file__).with_name("proxied")
USAGE_ERROR = 2
MAX_SIZE = 250_000_000  # bytes of a paper


def main() -> None:
    hook, settings = Hook.from_argv(), Settings()
    identifier = identifier_of(hook.url)
    if not identifier:
        noresults("the address names no paper")
    on_stop(lambda: try_again("Told to stop before the paper was saved."))
    os.environ["PYTHONPATH"] = str(PROXIED)
    with partial_folder() as folder:
        command = build(settings, identifier)
        done = download(command, folder, limit=MAX_SIZE, timeout=time_to_download(settings, "PAPERSDL"))
        conclude(done, identifier, folder)


def build(settings: Settings, identifier: str) -> list[str]:
    """The argv; the paper comes after `--`, so that it is never an option."""
    agent = settings.str("USER_AGENT")
    return [
        find_program(settings.str("PAPERSDL_BINARY")),
        "fetch",
        *settings.list("PAPERSDL_ARGS"),
        *([f"--user-agent={agent}"] if agent else []),
        *settings.list("PAPERSDL_ARGS_EXTRA"),
        "--output=.",
        "--",
        identifier,
    ]


def conclude(done: Finished, identifier: str, folder: Path) -> NoReturn:
    papers = [path for path in visible_files(folder) if path.suffix == ".pdf"]
    if papers:
        succeeded(put_in_place(papers, folder)[0], {"paper": identifier})
    if done.timed_out:
        try_again("The download took too long: raise PAPERSDL_TIMEOUT")
    if done.returncode == USAGE_ERROR:
        misconfigured("papers-dl does not understand its options: look at PAPERSDL_ARGS and PAPERSDL_ARGS_EXTRA")
    if done.returncode or "error: " in done.stderr:  # it ends with 0 whether a library lacks the paper or is away
        try_again(f"papers-dl could not ask for {identifier}")
    noresults(f"no library that was asked has {identifier}")


if __name__ == "__main__":
    main()
