#!/usr/bin/env python3
"""Provider custom: runs the command that the overrides give, then looks for the program as provider env does."""

from archivebox.plugins.base import Hook, on_stop, run_program
from archivebox.plugins.base.install import (
    InstallRequest,
    Library,
    answer_with_first,
    fail_install,
    find_all,
    install_timeout,
    search_path,
)

PROVIDER = "custom"


def main() -> None:
    request = InstallRequest.from_hook(Hook.from_argv(), PROVIDER)
    on_stop(lambda: fail_install(f"Told to stop before {request.name} was installed."))
    command = request.arguments("install")
    if not command:
        fail_install(f'No command is known for {request.name}: {{"custom": {{"install": ["program", "argument"]}}}}')
    library = Library.current()
    if not any(find_all(command[:1], search_path(library))):
        fail_install(f"{command[0]}, which is to install {request.name}, is not there.")
    done = run_program(command, timeout=install_timeout())
    if done.returncode != 0:
        fail_install(f"{command[0]} ended with status {done.returncode}, so {request.name} is not installed.")
    candidates = find_all(request.names, search_path(library))
    answer_with_first(request, candidates, library, f"{command[0]} was run, yet {request.name} is still not there.")


if __name__ == "__main__":
    main()
