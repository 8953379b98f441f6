#!/usr/bin/env python3
"""Keep a summary of what the page says, written by a program or a service that the person names.

It runs again whenever a text of the page may have changed. `summary.json` tells which text the summary is of, so that
the same text is given to the same program or service once.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from service import Service, ServiceBusyError, ServiceError

from archivebox.plugins.base import (
    Settings,
    failed,
    misconfigured,
    noresults,
    on_stop,
    run_program,
    succeeded,
    try_again,
    write_atomically,
)
from archivebox.plugins.base.hook import remove

# The first of them that is there says best what the page is about.
TEXTS = (
    "article/article.txt",
    "pdftotext/content.txt",
    "transcribe/content.txt",
    "ocr/content.txt",
    "htmltotext/htmltotext.txt",
)
OUTPUT, FACTS, INPUT, PARTIAL = "summary.txt", "summary.json", ".text.partial", ".summary.partial"
MAX_SIZE = 100_000  # bytes of a summary


def main() -> None:
    settings = Settings()
    on_stop(lambda: try_again("Told to stop before the summary was written."))
    source = next((path for name in TEXTS if (path := Path("..", name)).is_file()), None)
    if source is None:
        noresults("there is no text to summarize")
    limit = settings.int("SUMMARIZE_MAX_CHARACTERS")
    with source.open(encoding="utf-8", errors="replace") as file:
        text = file.read(limit + 1)
    question = question_of(settings, text[:limit])
    if (former := former_facts(question)) is not None:
        succeeded(OUTPUT, former)
    summary = ask(settings, text[:limit]).strip()
    if not summary:
        noresults("the answer was empty")
    write_atomically(OUTPUT, summary + "\n")
    cut = len(text) > limit
    facts = {"characters": len(summary), "source": str(source), "of": min(len(text), limit), "cut": cut}
    write_atomically(FACTS, json.dumps(facts | {"question": question}) + "\n")
    succeeded(OUTPUT, facts)


def question_of(settings: Settings, text: str) -> str:
    """Return the digest of what is asked, of whom, and about which text."""
    names = ("SUMMARIZE_BINARY", "SUMMARIZE_ARGS", "SUMMARIZE_URL", "SUMMARIZE_MODEL", "SUMMARIZE_PROMPT")
    asked = json.dumps([text, *(settings.str(name) for name in names)])
    return hashlib.sha256(asked.encode("utf-8", "replace")).hexdigest()


def former_facts(question: str) -> dict[str, object] | None:
    """Return what was told of the summary that is there, if it answers this question."""
    try:
        facts: dict[str, object] = json.loads(Path(FACTS).read_bytes())
    except (FileNotFoundError, ValueError):
        return None
    return facts if facts.pop("question", "") == question and Path(OUTPUT).is_file() else None


def ask(settings: Settings, text: str) -> str:
    if settings.str("SUMMARIZE_BINARY"):
        return ask_program(settings, text)
    if settings.str("SUMMARIZE_URL"):
        return ask_service(settings, text)
    return misconfigured(
        "Nobody is named who summarizes. Set one: archivebox config set SUMMARIZE_URL=… SUMMARIZE_MODEL=…"
    )


def ask_service(settings: Settings, text: str) -> str:
    service = Service(
        url=settings.str("SUMMARIZE_URL"),
        model=settings.str("SUMMARIZE_MODEL"),
        key=settings.str("SUMMARIZE_API_KEY"),
        timeout=settings.timeout("SUMMARIZE") * 0.9,
        max_size=MAX_SIZE,
    )
    try:
        return service.ask(settings.str("SUMMARIZE_PROMPT"), text)
    except ServiceBusyError as error:
        try_again(f"The service at SUMMARIZE_URL is not to be had now: {error}")
    except ServiceError as error:
        misconfigured(
            f"The service at SUMMARIZE_URL does not summarize: {error}. Look at SUMMARIZE_URL, _MODEL, _API_KEY"
        )


def ask_program(settings: Settings, text: str) -> str:
    command = [settings.path("SUMMARIZE_BINARY"), *settings.list("SUMMARIZE_ARGS")]
    try:
        write_atomically(INPUT, text)
        done = run_program(command, timeout=settings.timeout("SUMMARIZE") * 0.9, stdin=INPUT, stdout=PARTIAL)
        with open(PARTIAL, "rb") as file:
            summary = file.read(MAX_SIZE).decode("utf-8", "replace")
    finally:
        remove(INPUT)
        remove(PARTIAL)
    if done.timed_out:
        try_again("the program was not done in time")
    if done.returncode != 0:
        failed(f"the program failed (status {done.returncode}): {done.stderr.strip().rpartition(chr(10))[2]}")
    return summary


if __name__ == "__main__":
    main()
