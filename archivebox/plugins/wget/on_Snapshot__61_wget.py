#!/usr/bin/env python3
"""Saves the page as the server sends it, with all it shows, as files, by wget."""

import json
import shutil
import signal
import time
from pathlib import Path

from command import WgetPlan, build, secrets
from outcome import Fetch, judge, read_log, read_log_of_wget2

from archivebox.plugins.base import (
    Finished,
    Hook,
    Settings,
    failed,
    find_program,
    log,
    misconfigured,
    on_stop,
    run_program,
    skipped,
    succeeded,
    try_again,
    write_atomically,
)
from archivebox.plugins.base.download import file_size_limit, partial_folder
from archivebox.plugins.base.warc import RequestSecrets, cut_to_whole_records, leave_out

LOG = "wget.log"
LOG_TAIL = 2000  # characters shown to people when something went wrong


def main() -> None:
    hook, settings = Hook.from_argv(), Settings()
    if not hook.url.lower().startswith(("http://", "https://")):
        skipped("wget saves http and https only")
    on_stop(lambda: try_again("Told to stop before the page was saved."))
    program = find_program(settings.str("WGET_BINARY"))
    limit = settings.size("WGET_MAX_SIZE")
    seconds = settings.timeout("WGET")
    with partial_folder() as folder:
        plan = WgetPlan(
            program=program,
            is_wget2=is_wget2(program, settings, seconds),
            log=LOG,
            limit=limit,
            warc=f"warc/{time.strftime('%Y%m%d%H%M%S', time.gmtime())}",
            seconds=seconds - min(3.0, seconds / 4),  # time to put things in place before the engine ends us
        )
        (folder / "warc").mkdir()
        with file_size_limit(limit):
            done = run_program(build(plan, settings, hook.url), timeout=plan.seconds, cwd=str(folder))
        conclude(hook, plan, folder, done, None if settings.bool("WGET_SAVE_SECRETS") else secrets(settings))


def is_wget2(program: str, settings: Settings, seconds: float) -> bool:
    """Whether it is wget's second version; the engine tells, a person who runs this hook by hand does not."""
    if told := settings.str("WGET_VERSION"):
        return told.startswith("2.")
    return "Wget2" in run_program([program, "--version"], timeout=seconds).stdout[:80]


def conclude(
    hook: Hook, plan: WgetPlan, folder: Path, done: Finished, hidden: tuple[list[str], list[str]] | None
) -> None:
    """Keep what is worth it and end the hook with its result."""
    log_file = folder / plan.log
    fetch = read(log_file, plan, hook.url)
    verdict, sentence = judge(done.returncode, fetch)
    if done.returncode:
        tell(log_file)
    if verdict == "misconfigured":
        misconfigured(sentence)
    if not fetch.path and (done.timed_out or done.returncode < 0):
        report_failure(done)
    if verdict == "try again":
        try_again(sentence)
    log_file.unlink(missing_ok=True)
    warc = cut_warc(folder, plan, whole=done.returncode >= 0 and not done.timed_out)
    if warc and hidden is not None:
        names, values = hidden
        leave_out(folder / warc, RequestSecrets(frozenset(map(str.encode, names)), tuple(map(str.encode, values))))
    facts = {
        "path": fetch.path,
        "original": original_of(folder, fetch.path),
        "warc": warc,
        "final_url": fetch.final_url,
        "status": fetch.status,
        "errors": fetch.errors,
        "exit_code": done.returncode,
        "complete": done.returncode == 0 and bool(fetch.path),
    }
    publish(folder)
    if verdict == "failed":
        failed(sentence, facts)
    write_atomically("wget.json", json.dumps(facts, indent=2))
    succeeded(fetch.path, facts)


def read(log_file: Path, plan: WgetPlan, url: str) -> Fetch:
    if not log_file.is_file():
        return Fetch()
    with log_file.open(encoding="utf-8", errors="surrogateescape") as lines:
        return read_log_of_wget2(lines, url) if plan.is_wget2 else read_log(lines)


def tell(log_file: Path) -> None:
    if log_file.is_file():
        log(log_file.read_text("utf-8", "replace")[-LOG_TAIL:])


def report_failure(done: Finished) -> None:
    """Nothing was saved, and wget did not end by itself."""
    if not done.timed_out and done.returncode == -signal.SIGXFSZ:
        failed("The page is larger than WGET_MAX_SIZE")
    try_again("Nothing was saved in time" if done.timed_out else f"wget was ended by signal {-done.returncode}")


def cut_warc(folder: Path, plan: WgetPlan, *, whole: bool) -> str:
    """Cut an unfinished WARC to whole records. Returns its path, "" when there is none."""
    path = folder / f"{plan.warc}.warc.gz"
    if not path.is_file():
        return ""
    if not whole and not cut_to_whole_records(path):
        path.unlink()
        return ""
    return f"{plan.warc}.warc.gz"


def original_of(folder: Path, page: str) -> str:
    """The page as it came, where wget has turned its links: `x.html.orig`, or `x.orig` for an added `.html`."""
    names = (f"{page}.orig", f"{page.removesuffix('.html')}.orig")
    return next((name for name in names if page and (folder / name).is_file()), "")


def publish(folder: Path) -> None:
    """Move what the run has made into the plugin's folder; the WARCs of earlier runs stay beside the new one."""
    warcs = folder / "warc"
    if any(warcs.iterdir()):
        Path("warc").mkdir(exist_ok=True)
    for entry in [*warcs.iterdir(), *(entry for entry in folder.iterdir() if entry.name != "warc")]:
        target = Path(entry.relative_to(folder))
        if target.is_dir():
            shutil.rmtree(target)
        entry.replace(target)


if __name__ == "__main__":
    main()
