#!/usr/bin/env python3
"""Ask what the URL is before anything is opened, and tell it; the page is opened whatever the answer."""

from __future__ import annotations

import http.client
import json

from robots import SIZE_MAX, is_allowed, robots_url
from web import Answer, Web

from archivebox.plugins.base import (
    Hook,
    Settings,
    failed,
    give_up_after,
    patch_snapshot,
    succeeded,
    write_atomically,
)
from archivebox.plugins.base.stopping import TimeIsOver

FILE = "precheck.json"
MARGIN = 0.9  # of the hook's time
ROBOT = "ArchiveBox"
USER_AGENT = f"Mozilla/5.0 (compatible; {ROBOT})"
SAY_NOTHING = frozenset({"", "application/octet-stream", "text/plain"})  # types that servers give to anything


def robots_allow(web: Web, url: str) -> bool:
    """Say whether robots.txt of the site allows the page."""
    status, text = web.text(robots_url(url), SIZE_MAX)
    return is_allowed(status, text, url, ROBOT)


def sentence(facts: dict[str, object]) -> str:
    """Say it in short, as in `200 text/html, 12.3 KB, robots.txt allows it`."""
    size = facts["size"]
    parts = [f"{facts['status']} {facts['mime']}".strip()]
    if isinstance(size, int):
        parts.append(f"{size / 1000:.1f} KB")
    if facts["robots"] is not None:
        parts.append("robots.txt allows it" if facts["robots"] else "robots.txt asks to leave it alone")
    return ", ".join(parts)


def facts_of(answer: Answer, allowed: bool | None) -> dict[str, object]:
    """Return what is kept; `robots` is null where it was not asked for."""
    return {
        "status": answer.status,
        "final_url": answer.url,
        "mime": answer.mime,
        "size": answer.size,
        "modified": answer.headers.get("Last-Modified"),
        "robots": allowed,
    }


def main() -> None:
    hook, settings = Hook.from_argv(), Settings()
    seconds = settings.timeout("PRECHECK") * MARGIN
    agent = settings.str("PRECHECK_USER_AGENT") or USER_AGENT
    web = Web(agent, seconds, check_certificates=settings.bool("PRECHECK_CHECK_SSL_VALIDITY"))
    give_up_after(seconds)
    try:
        answer = web.look_at(hook.url)
        allowed = robots_allow(web, hook.url) if settings.bool("PRECHECK_ROBOTS") else None
    except (OSError, ValueError, http.client.HTTPException, TimeIsOver) as error:
        failed(f"nothing was learnt of it: {error}")
    facts = facts_of(answer, allowed)
    write_atomically(FILE, json.dumps(facts, indent=2) + "\n")
    if 200 <= answer.status < 300 and answer.mime not in SAY_NOTHING:
        patch_snapshot(mime_type=answer.mime)
    succeeded(sentence(facts), facts)


if __name__ == "__main__":
    main()
