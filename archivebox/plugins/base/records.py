"""What a hook says: one JSON record a line on its standard output, sentences for people on its standard error."""

from __future__ import annotations

import json
import os
import sys

from archivebox.plugins.base.invocation import Hook

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

STDOUT = 1
SKIPPED = 10  # the exit status that says "skipped", with or without a record (contract, What comes of it)


def emit(type: str, **fields: object) -> None:  # noqa: A002  (the record's own word)
    """Print one record, in one write: several processes may share the file, and a signal handler may speak too."""
    line = json.dumps({"type": type, **fields}, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"
    while line:
        line = line[os.write(STDOUT, line) :]


def log(*words: object) -> None:
    """Tell people something, on standard error."""
    print(*words, file=sys.stderr, flush=True)


def ready() -> None:
    """Say that a background hook is at work, or another has done with the page, so that those after it may start."""
    emit("Ready")


def waiting() -> None:
    """Say that this hook waits for somebody else's server, and needs nothing of the machine: the next one may begin."""
    emit("Waiting")


def found(url: str, **fields: object) -> None:
    """Report a URL found on the page; without `depth` it gets this Snapshot's plus one."""
    emit("Snapshot", url=url, **fields)


def patch_snapshot(**fields: object) -> None:
    """Set fields of this hook's own Snapshot; the engine takes an allow-listed set of them."""
    emit("Snapshot", **{"id": Hook.from_argv().snapshot_id, **fields})


def succeeded(output_str: str, output_json: object = None, *, reason: str = "") -> NoReturn:
    """End: there is a result. `output_str` is the main file's name or a short text; `reason`: what it lacks."""
    _end("succeeded", output_str, output_json, 0, reason=reason)


def noresults(output_str: str, output_json: object = None) -> NoReturn:
    """End: it ran, and this page has nothing of the kind."""
    _end("noresults", output_str, output_json, 0)


def skipped(output_str: str, output_json: object = None) -> NoReturn:
    """End: not applicable here, for the reason given."""
    _end("skipped", output_str, output_json, SKIPPED)


def failed(output_str: str, output_json: object = None, *, reason: str = "") -> NoReturn:
    """End, soft: it ran, and the thing was not to be had; it is not tried again. `reason`: a code of the contract."""
    _end("failed", output_str, output_json, 0, reason=reason)


def misconfigured(sentence: str) -> NoReturn:
    """End, hard: nothing will come of trying again before a person has acted on `sentence`."""
    log(sentence)
    _end("failed", sentence, None, 1)


def try_again(sentence: str, output_json: object = None, *, reason: str = "", after: int = 0) -> NoReturn:
    """End, failed for now: what stood in the way may pass by itself, so that the engine tries again later.

    `after`: seconds for which the server wishes to be left alone; 0 where it did not say.
    """
    log(sentence)
    _end("failed", sentence, output_json, 1, retry="later", reason=reason, retry_after=after)


def page_lost(sentence: str) -> NoReturn:
    """End without a result because the live page is gone: again, for nothing, as soon as it has been opened anew."""
    log(sentence)
    _end("failed", sentence, None, 1, retry="new_page")


def _end(status: str, output_str: str, output_json: object, code: int, **more: str | int) -> NoReturn:
    extra = {} if output_json is None else {"output_json": output_json}
    said = {name: word for name, word in more.items() if word}
    emit("ArchiveResult", status=status, output_str=output_str, **extra, **said)
    raise SystemExit(code)
