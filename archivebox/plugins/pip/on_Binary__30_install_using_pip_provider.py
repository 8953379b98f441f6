#!/usr/bin/env python3
"""Provider pip: installs a Python program into a virtual environment of its own, LIB_DIR/pip/<binary>."""

from environment import Environment, PipError

from archivebox.plugins.base import Hook, on_stop
from archivebox.plugins.base.install import InstallRequest, Library, answer_with_first, fail_install, install_timeout

PROVIDER = "pip"


def main() -> None:
    request = InstallRequest.from_hook(Hook.from_argv(), PROVIDER)
    on_stop(lambda: fail_install(f"Told to stop before {request.name} was installed."))
    library = Library.current()
    environment = Environment(library, request, install_timeout())
    try:
        program = environment.install()
    except PipError as error:
        fail_install(str(error))
    # An interpreter finds its packages by where it is called from, and a `python` in bin would replace all others.
    place = program if program.name == "python" else library.link(program.name, program)
    answer_with_first(request, [place], library, f"pip installed {request.name}, but it does not run.")


if __name__ == "__main__":
    main()
