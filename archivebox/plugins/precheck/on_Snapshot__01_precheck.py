#!/usr/bin/env python3
"""Ask what the URL is before anything is opened, and tell it; the page is opened whatever the answer."""

from __future__ import annotations

import json

from archivebox.plugins.base import (
    Hook,
    Settings,
    failed,
    patch_snapshot,
    set_deadline,
    succeeded,
    write_atomically,
)
from archivebox.plugins.base.hook import TimeIsOver
from archivebox.plugins.base.web import Web, WebResponse

FILE = "precheck.json"
MARGIN = 0.9  # of the hook's time
USER_AGENT = "Mozilla/5.0 (compatible; ArchiveBox)"
SAY_NOTHING = frozenset({"", "application/octet-stream", "text/plain"})  # types that servers give to anything


def sentence(facts: dict[str, object]) -> str:
    """Say it in short, as in `200 text/html, 12.3 KB`."""
    size = facts["size"]
    parts = [f"{facts['status']} {facts['mime']}".strip()]
    if isinstance(size, int):
        parts.append(f"{size / 1000:.1f} KB")
    return ", ".join(parts)


def facts_of(answer: WebResponse) -> dict[str, object]:
    """Return what is kept."""
    return {
        "status": answer.status,
        "final_url": answer.url,
        "mime": answer.mime,
        "size": answer.size,
        "modified": answer.headers.get("Last-Modified"),
    }


def main() -> None:
    hook, settings = Hook.from_argv(), Settings()
    seconds = settings.timeout("PRECHECK") * MARGIN
    agent = settings.str("USER_AGENT") or USER_AGENT
    web = Web(agent, seconds, check_certificates=settings.bool("CHECK_SSL_VALIDITY"))
    set_deadline(seconds)
    try:
        answer = web.look_at(hook.url)
    except (OSError, ValueError, TimeIsOver) as error:
        failed(f"nothing was learnt of it: {error}")
    facts = facts_of(answer)
    write_atomically(FILE, json.dumps(facts, indent=2) + "\n")
    if 200 <= answer.status < 300 and answer.mime not in SAY_NOTHING:
        patch_snapshot(mime_type=answer.mime)
    succeeded(sentence(facts), facts)


if __name__ == "__main__":
    main()
