#!/usr/bin/env python3
"""Find out whether robots.txt of the site leaves the page to us; where it does not, nothing else of the page starts."""

from __future__ import annotations

import os

from rules import BROKEN, is_allowed, rules_of

from archivebox.plugins.base import Hook, Settings, failed, set_deadline, succeeded, try_again
from archivebox.plugins.base.hook import TimeIsOver
from archivebox.plugins.base.web import Web

NAME = "ArchiveBox"  # that is looked up in robots.txt
MARGIN = 0.9  # of the hook's time


def main() -> None:
    hook, settings = Hook.from_argv(), Settings()
    seconds = settings.timeout("ROBOTS") * MARGIN
    agent = settings.str("USER_AGENT") or f"Mozilla/5.0 (compatible; {NAME})"
    web = Web(agent, seconds, check_certificates=settings.bool("CHECK_SSL_VALIDITY"))
    set_deadline(seconds)
    try:
        status, text = rules_of(hook.url, web, os.path.join(os.environ["CRAWL_DIR"], "robots"))
    except (OSError, ValueError, TimeIsOver) as error:
        try_again(f"robots.txt of the site could not be had: {error}")
    set_deadline(0)
    if status >= BROKEN:
        try_again(f"robots.txt of the site could not be had: it answers {status}")
    if not is_allowed(status, text, hook.url, NAME):
        failed(f"robots.txt asks {NAME} to leave this page alone")
    succeeded("robots.txt allows it")


if __name__ == "__main__":
    main()
