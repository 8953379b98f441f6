#!/usr/bin/env python3
"""Keep the text of the PDF that the URL is, as staticfile or wget has stored it, by poppler's pdftotext."""

from __future__ import annotations

from pathlib import Path

from archivebox.plugins.base import (
    Settings,
    failed,
    noresults,
    on_stop,
    run_program,
    succeeded,
    try_again,
    write_atomically,
)
from archivebox.plugins.base.hook import remove
from archivebox.plugins.base.stored_files import find_files

OUTPUT, PARTIAL = "content.txt", ".content.partial"
PAGES_MAX = 2_000
MAX_SIZE = 20_000_000  # bytes of text
# pdftotext(1), Exit codes.
REASONS = {
    1: "it cannot be opened, because it is damaged or asks for a password",
    3: "it does not permit its text to be copied",
}


def main() -> None:
    settings = Settings()
    on_stop(lambda: try_again("Told to stop before the PDF was read."))
    pdfs = find_files("pdf", ("staticfile", "wget"))
    if not pdfs:
        noresults("no PDF is stored of this URL")
    pages = ["-l", str(PAGES_MAX)]
    command = [settings.str("PDFTOTEXT_BINARY"), *settings.list("PDFTOTEXT_ARGS"), *pages]
    command += [*settings.list("PDFTOTEXT_ARGS_EXTRA"), pdfs[0], PARTIAL]
    try:
        done = run_program(command, timeout=settings.timeout("PDFTOTEXT") * 0.9)
        text = read(Path(PARTIAL))
    finally:
        remove(PARTIAL)
    if done.timed_out:
        try_again("the PDF was not read in time")
    if done.returncode != 0:
        failed(f"no text of the PDF: {REASONS.get(done.returncode, f'pdftotext ended with {done.returncode}')}")
    if not text.strip():
        noresults("the PDF has no text: its pages are pictures")
    write_atomically(OUTPUT, text.strip() + "\n")
    succeeded(OUTPUT, {"characters": len(text), "source": pdfs[0]})


def read(path: Path) -> str:
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return file.read(MAX_SIZE).decode("utf-8", "replace")


if __name__ == "__main__":
    main()
