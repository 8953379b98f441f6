#!/usr/bin/env python3
"""Provider brew: installs a Homebrew formula or cask."""

import os
from pathlib import Path

from archivebox.plugins.base import Hook, Settings, on_stop, run_program
from archivebox.plugins.base.install import (
    InstallRequest,
    Library,
    answer_with_first,
    fail_install,
    find_all,
    install_timeout,
    search_path,
)

PROVIDER = "brew"
# Where Homebrew's installer puts it: Apple silicon, Intel, Linux (docs.brew.sh/Installation).
PLACES = ("/opt/homebrew/bin", "/usr/local/bin", "/home/linuxbrew/.linuxbrew/bin")
# Nothing is asked, nothing is sent but the downloads.
QUIET = {"NONINTERACTIVE": "1", "HOMEBREW_NO_ANALYTICS": "1", "HOMEBREW_NO_ENV_HINTS": "1"}


def main() -> None:
    request = InstallRequest.from_hook(Hook.from_argv(), PROVIDER)
    on_stop(lambda: fail_install(f"Told to stop before {request.name} was installed."))
    library = Library.current()
    brew = next(find_all([Settings().str("BREW_BINARY")], [*search_path(library), *PLACES]), None)
    if brew is None:
        fail_install(f"{request.name} comes with Homebrew, which is not on this machine.")
    if os.geteuid() == 0:
        fail_install(f"Homebrew refuses root. Type as an ordinary user: brew install {' '.join(formulas(request))}")
    install(request, brew)
    candidates = find_all(request.names, [str(brew.parent), *kegs(request, brew), *search_path(library)])
    answer_with_first(request, candidates, library, f"brew installed {request.name}, but no such program runs.")


def formulas(request: InstallRequest) -> list[str]:
    return request.texts("formula") or request.texts("cask") or request.packages


def kegs(request: InstallRequest, brew: Path) -> list[str]:
    """Where formulas keep their programs that are not linked (curl, openjdk and others of the system's names)."""
    return [str(brew.parent.parent / "opt" / formula.rpartition("/")[2] / "bin") for formula in formulas(request)]


def install(request: InstallRequest, brew: Path) -> None:
    kind = ["--cask"] if request.texts("cask") else []
    command = [
        str(brew),
        "upgrade" if request.upgrade else "install",
        *kind,
        *request.arguments("args"),
        "--",
        *formulas(request),
    ]
    done = run_program(command, timeout=install_timeout(), env={**os.environ, **QUIET})
    if done.timed_out:
        fail_install(f"Installing {request.name} with brew took longer than {install_timeout():g} s.")
    if done.returncode != 0:
        fail_install(f"brew could not install {' '.join(formulas(request))} (status {done.returncode}).")


if __name__ == "__main__":
    main()
