#!/usr/bin/env python3
"""Asks the Internet Archive to save the page, too, and keeps the address of its copy."""

import time

from savepagenow import BusyError, RefusedError, SavePageNow

from archivebox.plugins.base import Hook, Settings, failed, on_stop, succeeded, try_again, write_atomically
from archivebox.plugins.base.download import time_to_download

OUTPUT = "archive.org.txt"


def main() -> None:
    hook, settings = Hook.from_argv(), Settings()
    on_stop(lambda: try_again("Told to stop before the copy was made."))
    agent, key = settings.str("USER_AGENT"), settings.str("ARCHIVE_ORG_KEY")
    deadline = time.monotonic() + time_to_download(settings, "ARCHIVE_ORG")
    archive = SavePageNow(settings.str("ARCHIVE_ORG_ENDPOINT"), agent, deadline)
    try:
        copy = archive.save_with_key(hook.url, key) if key else archive.save(hook.url)
    except RefusedError as error:
        failed(f"The archive did not save the page: {error}")
    except BusyError as error:
        try_again(f"The archive did not save the page now: {error}")
    write_atomically(OUTPUT, f"{copy}\n")
    succeeded(copy)


if __name__ == "__main__":
    main()
