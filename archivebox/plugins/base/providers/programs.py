"""What a provider answers: a program that was found, with its version and hash, as one Binary record."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from archivebox.plugins.base import emit, log, run_program
from archivebox.plugins.base.providers.request import InstallRequest, fail_install

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from archivebox.plugins.base.providers.library import Library

VERSION_FLAGS = ("--version", "-version", "-V", "version")
VERSION_TIME = 20.0  # seconds for one try: a cold Chromium or JVM takes up to 5 on a slow disk
_DOTTED = re.compile(r"(?<![\d.])\d+(?:\.\d+)+(?:[-+~._]?[0-9A-Za-z]+)*")
_WHOLE = re.compile(r"(?<![\d.])\d+")
_HEAD = 3  # lines: below that stand licences and the versions of libraries


def search_path(library: Library) -> list[str]:
    """Our own links first, then PATH."""
    return [str(library.bin), *os.environ.get("PATH", os.defpath).split(os.pathsep)]


def find_all(names: Iterable[str], folders: Iterable[str]) -> Iterator[Path]:
    """Every executable file of these names, best name first; a name with a slash is a path."""
    places = [folder for folder in folders if folder]
    for name in names:
        if "/" in name:
            candidates = [Path(name).expanduser().absolute()]
        else:
            candidates = [Path(folder).absolute() / name for folder in places]
        yield from (path for path in candidates if path.is_file() and os.access(path, os.X_OK))


def answer_with_first(
    request: InstallRequest, candidates: Iterable[Path], library: Library, nothing: str, version: str = ""
) -> NoReturn:
    """Report the first candidate that can be started; with none, fail with the sentence `nothing`.

    `version` is that of its package, for a program that does not say its own.
    """
    for path in candidates:
        try:
            said = read_version(path)
        except OSError as error:
            log(f"{path} is there but cannot be started: {error.strerror}")
            continue
        report(request, path, said or version, library)
    fail_install(nothing)


def report(request: InstallRequest, path: Path, version: str, library: Library) -> NoReturn:
    """End the hook with the record of the program at `path`."""
    emit(
        "Binary",
        name=request.name,
        abspath=str(path),
        version=version,
        sha256=library.sha256(path),
        binprovider=request.provider,
    )
    raise SystemExit(0)


def read_version(path: Path) -> str:
    """The version that the program says it has, "" when it does not say; OSError when it cannot be started.

    The flags are tried in an empty folder, since a program that does not know them may take them for file names.
    """
    with tempfile.TemporaryDirectory(prefix="version-") as folder:
        for flag in VERSION_FLAGS:
            done = run_program([str(path), flag], timeout=VERSION_TIME, cwd=folder)
            version = version_in(done.stdout) or version_in(done.stderr)
            if done.returncode == 0 and version:
                return version
    return ""


def version_in(text: str) -> str:
    """The first number with a dot in the first lines, else the first number of the first line.

    >>> version_in("GNU Wget 1.21.3 built on linux-gnu."), version_in("v20.20.2"), version_in("less 590 (GNU regex)")
    ('1.21.3', '20.20.2', '590')
    """
    lines = [line for line in text.splitlines() if line.strip()][:_HEAD]
    for line in lines:
        dotted = _DOTTED.search(line)
        if dotted:
            return dotted[0]
    whole = _WHOLE.search(lines[0]) if lines else None
    return whole[0] if whole else ""
