#!/usr/bin/env python3
"""Provider env: takes a program that is already there, in LIB_DIR/bin or on the PATH."""

from archivebox.plugins.base import Hook
from archivebox.plugins.base.install import InstallRequest, Library, answer_with_first, find_all, search_path

PROVIDER = "env"


def main() -> None:
    request = InstallRequest.from_hook(Hook.from_argv(), PROVIDER)
    library = Library.current()
    candidates = find_all(request.names, search_path(library))
    wanted = " or ".join(request.names)
    answer_with_first(request, candidates, library, f"No {wanted} that runs is in {library.bin} or on the PATH.")


if __name__ == "__main__":
    main()
