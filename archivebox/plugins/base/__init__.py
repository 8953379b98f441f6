"""What hook authors import: arguments, settings, records, files and programs of a hook.

A whole hook::

    from archivebox.plugins.base import Hook, Settings, run_program, succeeded, failed

    def main() -> None:
        hook, settings = Hook.from_argv(), Settings()
        done = run_program(["wget", "--", hook.url], timeout=settings.timeout("WGET"))
        if done.returncode == 0:
            succeeded("index.html")
        failed(f"wget: {done.stderr}")

    if __name__ == "__main__":
        main()

Only what nearly every hook needs is loaded at once (a cold hook starts in 26 ms); `run_program` and its like are loaded
when they are first named, because `subprocess` alone costs 13 ms. `base.cdp` and `base.tab` speak to the browser,
`base.inject` has a library work in the page.
"""

from __future__ import annotations

from archivebox.lib.machine_load import extended
from archivebox.plugins.base.hook import (
    Hook,
    StopRequest,
    TimeIsOver,
    emit,
    failed,
    found,
    log,
    misconfigured,
    noresults,
    on_stop,
    page_lost,
    patch_snapshot,
    ready,
    set_deadline,
    sibling,
    skipped,
    succeeded,
    try_again,
    waiting,
    write_atomically,
)
from archivebox.plugins.base.settings import Settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from archivebox.plugins.base.programs import (
        Finished,
        Program,
        find_program,
        open_process,
        run_program,
        start_program,
        start_ticks,
    )

__all__ = [
    "Finished",
    "Hook",
    "Program",
    "Settings",
    "StopRequest",
    "TimeIsOver",
    "emit",
    "extended",
    "failed",
    "find_program",
    "found",
    "log",
    "misconfigured",
    "noresults",
    "on_stop",
    "open_process",
    "page_lost",
    "patch_snapshot",
    "ready",
    "run_program",
    "set_deadline",
    "sibling",
    "skipped",
    "start_program",
    "start_ticks",
    "succeeded",
    "try_again",
    "waiting",
    "write_atomically",
]

_OF_PROGRAMS = frozenset(
    {"Finished", "Program", "find_program", "open_process", "run_program", "start_program", "start_ticks"}
)


def __getattr__(name: str) -> object:
    """Load `base.programs` when one of its names is first asked for (PEP 562)."""
    if name in _OF_PROGRAMS:
        from archivebox.plugins.base import programs

        return getattr(programs, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
