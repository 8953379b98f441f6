#!/usr/bin/env python3
"""Provider apt: installs a Debian package, as root or by a sudo that asks for no password."""

from packages import Apt, AptError, packages_of

from archivebox.plugins.base import Hook, on_stop
from archivebox.plugins.base.install import (
    InstallRequest,
    Library,
    answer_with_first,
    fail_install,
    find_all,
    install_timeout,
    search_path,
)

PROVIDER = "apt"


def main() -> None:
    request = InstallRequest.from_hook(Hook.from_argv(), PROVIDER)
    on_stop(lambda: fail_install(f"Told to stop before {request.name} was installed."))
    packages = packages_of(request)
    apt = Apt(install_timeout(), request.arguments("args"))
    try:
        (apt.upgrade if request.upgrade else apt.install)(packages)
    except AptError as error:
        fail_install(str(error))
    library = Library.current()
    candidates = [*find_all(request.names, search_path(library)[1:]), *apt.programs_of(packages, request.names)]
    nothing = f"{' '.join(packages)} is installed, but it brings no program {' or '.join(request.names)} that runs."
    answer_with_first(request, candidates, library, nothing)


if __name__ == "__main__":
    main()
