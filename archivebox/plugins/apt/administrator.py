#!/usr/bin/env python3
"""Says what provider apt needs an administrator's password for: one command that installs all of it.

Not a hook: a command that is about to start work runs it as hooks are run, without a terminal, with
`--programs=[{"name", "binproviders", "overrides"}, …]`, and runs what it prints with sudo, at the terminal. It prints
one record `Administrator`: `command`, and `packages` by the name of the program; none if nothing is to be asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from packages import Apt, in_one_command, is_here, packages_of

from archivebox.plugins.base import Hook, emit
from archivebox.plugins.base.install import InstallRequest, Library, find_all, install_timeout, search_path

if TYPE_CHECKING:
    from archivebox.plugins.base.hook import JSON

PROVIDER = "apt"


def main() -> None:
    programs = Hook.from_argv().options.get("programs")
    wanted = [Hook(record) for record in programs if isinstance(record, dict)] if isinstance(programs, list) else []
    apt = Apt(install_timeout(), [])
    missing = {hook.text("name"): InstallRequest.from_hook(hook, PROVIDER) for hook in wanted if not is_found(hook)}
    packages = {name: packages_of(request) for name, request in missing.items()} if is_here() else {}
    packages = {name: brought for name, brought in packages.items() if not apt.has(brought)}
    if not packages or apt.as_root() is not None:
        return
    emit("Administrator", packages=packages, command=in_one_command(calls(packages, missing)))


def is_found(hook: Hook) -> bool:
    """Whether provider env is asked before, and would have it."""
    providers: JSON = hook.options.get("binproviders")
    if not isinstance(providers, list) or "env" not in providers:
        return False
    return any(find_all(InstallRequest.from_hook(hook, "env").names, search_path(Library.current())))


def calls(packages: dict[str, list[str]], missing: dict[str, InstallRequest]) -> list[tuple[Apt, list[str]]]:
    """Packages by what is said to apt-get for them: those that need no words of their own go in one call."""
    by_arguments: dict[tuple[str, ...], list[str]] = {}
    for name, brought in packages.items():
        together = by_arguments.setdefault(tuple(missing[name].arguments("args")), [])
        together += [package for package in brought if package not in together]
    return [(Apt(install_timeout(), list(words)), together) for words, together in by_arguments.items()]


if __name__ == "__main__":
    main()
