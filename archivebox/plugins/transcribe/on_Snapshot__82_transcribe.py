#!/usr/bin/env python3
"""Keep what is said in the recordings of a page that have no subtitles, by a program of Whisper's command line."""

from __future__ import annotations

import glob
import os
import tempfile
import time
from pathlib import Path

from archivebox.plugins.base import Settings, noresults, on_stop, run_program, skipped, try_again
from archivebox.plugins.base.stored_files import NotReadError, find_files, keep_readings

FILES_MAX = 3  # of one page
MAX_SIZE = 20_000_000  # bytes of words; a day of speech has one million


def main() -> None:
    settings = Settings()
    on_stop(lambda: try_again("Told to stop before everything was written down."))
    if glob.glob("../ytdlp/**/*.vtt", recursive=True) or glob.glob("../ytdlp/**/*.srt", recursive=True):
        skipped("the video has subtitles")
    recordings = find_files("media", ("ytdlp", "staticfile", "wget"))
    if not recordings:
        noresults("no recording is stored of this page")
    deadline = time.monotonic() + settings.timeout("TRANSCRIBE") * 0.95
    keep_readings(
        recordings,
        lambda recording: write_down(settings, recording, deadline),
        most=FILES_MAX,
        unreadable="no recording could be written down",
        silent="no speech was found",
    )


def write_down(settings: Settings, recording: str, deadline: float) -> str:
    """What is said in one recording; the words with their times are kept as .vtt. Raises NotReadError."""
    with tempfile.TemporaryDirectory(dir=".", prefix=".transcribe-") as folder:
        done = run_program(command(settings, recording, folder), timeout=max(0.0, deadline - time.monotonic()))
        stem = Path(recording).stem
        text, times = Path(folder, f"{stem}.txt"), Path(folder, f"{stem}.vtt")
        if done.returncode != 0 or not text.is_file():
            raise NotReadError("no time was left" if done.timed_out else done.stderr.strip().rpartition("\n")[2])
        if times.is_file():
            times.replace(f"{stem}.vtt")
        with text.open("rb") as file:
            return file.read(MAX_SIZE).decode("utf-8", "replace").strip()


def command(settings: Settings, recording: str, folder: str) -> list[str]:
    model, language = settings.str("TRANSCRIBE_MODEL"), settings.str("TRANSCRIBE_LANGUAGE")
    is_folder = os.path.isdir(os.path.expanduser(model))
    return [
        settings.str("TRANSCRIBE_BINARY"),
        *settings.list("TRANSCRIBE_ARGS"),
        f"--model_directory={os.path.expanduser(model)}" if is_folder else f"--model={model}",
        *([f"--language={language}"] if language else []),
        "--output_format=all",
        f"--output_dir={folder}",
        *settings.list("TRANSCRIBE_ARGS_EXTRA"),
        "--",
        recording,
    ]


if __name__ == "__main__":
    main()
