#!/usr/bin/env python3
"""Keep the text that tesseract reads in pictures, or in the pages of a PDF that has no text of its own."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

from archivebox.plugins.base import Settings, noresults, on_stop, run_program, try_again
from archivebox.plugins.base.stored_files import NotReadError, find_files, keep_readings

RESOLUTION = "200"  # dots an inch: what tesseract is trained for lies between 200 and 300
MAX_SIZE = 1_000_000  # bytes of text of one picture


def main() -> None:
    settings = Settings()
    on_stop(lambda: try_again("Told to stop before the pictures were read."))
    deadline = time.monotonic() + settings.timeout("OCR") * 0.9
    limit = settings.int("OCR_MAX_PICTURES")
    with tempfile.TemporaryDirectory(dir=".", prefix=".ocr-") as folder:
        pictures = find_files("picture", ("staticfile", "wget", "gallerydl")) or pages(folder, limit, deadline)
        if not pictures:
            noresults("no picture is stored of this URL")
        keep_readings(
            pictures,
            lambda picture: read(settings, picture, folder, deadline),
            most=limit,
            unreadable="no picture could be read",
            silent="there is no text in the pictures",
        )


def pages(folder: str, limit: int, deadline: float) -> list[str]:
    """Pictures of the pages of the PDF that the URL is, where pdftotext found nothing in it."""
    pdfs = find_files("pdf", ("staticfile", "wget"))
    if not pdfs or os.path.exists(os.path.join("..", "pdftotext", "content.txt")):
        return []
    command = ["pdftoppm", "-png", "-gray", "-r", RESOLUTION, "-l", str(limit), pdfs[0], os.path.join(folder, "page")]
    run_program(command, timeout=max(0.0, deadline - time.monotonic()))
    return sorted(str(path) for path in Path(folder).glob("page*.png"))


def read(settings: Settings, picture: str, folder: str, deadline: float) -> str:
    """The text in one picture. Raises NotReadError."""
    left = max(0.0, deadline - time.monotonic())
    text = Path(folder, "text")
    command = [settings.str("OCR_BINARY"), picture, "stdout", "-l", settings.str("OCR_LANGUAGES")]
    command += [*settings.list("OCR_ARGS"), *settings.list("OCR_ARGS_EXTRA")]
    # One thread: its four take more time together, from the pages beside this one, than they gain.
    done = run_program(command, timeout=left, env={**os.environ, "OMP_THREAD_LIMIT": "1"}, stdout=str(text))
    if done.returncode != 0:
        raise NotReadError("no time was left" if done.timed_out else done.stderr.strip().rpartition("\n")[2])
    with text.open("rb") as file:
        return file.read(MAX_SIZE).decode("utf-8", "replace").strip()


if __name__ == "__main__":
    main()
