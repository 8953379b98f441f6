#!/usr/bin/env python3
"""Saves what plays in the page: video, sound, subtitles, picture and description, by yt-dlp."""

import json
from pathlib import Path
from typing import NoReturn

import players
from command import DONE, DownloadPlan, build
from outcome import judge
from subtitles import text_of

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
    write_atomically,
)
from archivebox.plugins.base.download import (
    download,
    lend_cookies,
    partial_folder,
    put_in_place,
    time_to_download,
    visible_files,
)

SUBTITLES = (".vtt", ".srt")
MAX_SUBTITLES = 16 << 20  # bytes of one file that are made text of
PRIVATE = frozenset({"cookies", "http_headers", "filename", "_filename", "filepath"})


def main() -> None:
    hook, settings = Hook.from_argv(), Settings()
    on_stop(lambda: try_again("Told to stop before it was downloaded."))
    with partial_folder() as folder:
        plan = DownloadPlan(
            program=find_program(settings.str("YTDLP_BINARY")),
            limit=settings.size("YTDLP_MAX_SIZE"),
            seconds=time_to_download(settings, "YTDLP"),
            cookies=lend_cookies(settings.path("COOKIES_FILE"), folder),
        )
        conclude(fetch(plan, settings, folder, hook.url), folder)


def fetch(plan: DownloadPlan, settings: Settings, folder: Path, url: str) -> Finished:
    """Ask for the page; where yt-dlp knows no such page, for the first playlist that its player fetched."""
    done = download(build(plan, settings, url), folder, limit=plan.limit, timeout=plan.seconds)
    fetched = players.manifest(Path(".."))
    if fetched and not done.timed_out and judge(done)[0] == "noresults":
        return download(build(plan, settings, fetched), folder, limit=plan.limit, timeout=plan.seconds)
    return done


def conclude(done: Finished, folder: Path) -> NoReturn:
    media = finished_media(folder)
    if not media:
        report_failure(done)
    whole = done.returncode == 0
    kept = [path for path in visible_files(folder) if whole or belongs_to_any(path.name, media)]
    for path in list(kept):
        kept += prepare(path)
    files = put_in_place(kept, folder)
    succeeded(media[0], {"media": media, "files": files, "exit_code": done.returncode, "complete": whole})


def finished_media(folder: Path) -> list[str]:
    """The files that yt-dlp says are whole, in their order."""
    listed = folder / DONE
    names = [str(json.loads(line)) for line in listed.read_text().splitlines()] if listed.is_file() else []
    return [name for name in dict.fromkeys(names) if (folder / name).is_file()]


def belongs_to_any(name: str, media: list[str]) -> bool:
    """Of a run that was cut off or had errors, only what goes with finished files is kept."""
    return any(name.startswith(f"{Path(finished).stem}.") for finished in media)


def prepare(path: Path) -> list[Path]:
    """Leave out of notes what identifies the one who archives; make text of subtitles and return its file."""
    if path.name.endswith(".info.json"):
        write_atomically(str(path), json.dumps(without_private(json.loads(path.read_bytes())), ensure_ascii=False))
    if path.suffix not in SUBTITLES:
        return []
    subtitles = path.read_bytes()[:MAX_SUBTITLES].decode("utf-8", "replace")
    return [Path(write_atomically(str(path.with_suffix(".txt")), text_of(subtitles)))]


def without_private(value: object) -> object:
    if isinstance(value, dict):
        return {key: without_private(item) for key, item in value.items() if key not in PRIVATE}
    return [without_private(item) for item in value] if isinstance(value, list) else value


def report_failure(done: Finished) -> NoReturn:
    if done.timed_out:
        try_again("The download did not end in time: set YTDLP_TIMEOUT higher")
    verdict, sentence = judge(done)
    match verdict:
        case "noresults":
            noresults(sentence)
        case "misconfigured":
            misconfigured(sentence)
        case "failed":
            failed(sentence)
        case "try again":
            try_again(sentence)


if __name__ == "__main__":
    main()
