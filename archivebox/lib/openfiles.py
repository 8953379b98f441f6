"""Owns how many files this process, and those it starts, may have open at once."""

import resource

LEAST = 256
"""Chromium has 131 open for one page, and a renderer more for each further one."""
WANTED = 4096


class TooFewFilesError(Exception):
    """A limit of the system with which no page can be archived; the message says what to do."""


def require_open_files() -> None:
    """Raise our own limit towards WANTED, as far as we may; TooFewFilesError where that leaves less than LEAST."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = WANTED if hard == resource.RLIM_INFINITY else min(WANTED, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    if most < LEAST:
        raise TooFewFilesError(
            f"A process may have only {most} files open here, and archiving pages takes {LEAST}. Raise the limit "
            "(`ulimit -n 4096`, in Docker --ulimit nofile=4096), and try again. Accepted URLs are saved."
        )
