"""Owns the PATH that tests run with: programs of a minimal Debian, and of the packages that the suite installs.

A test that needs any other program fails on every Debian machine alike, and not only on one that lacks it.
"""

import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.suite.packages import NEEDS

STATUS = Path("/var/lib/dpkg/status")
INFO = Path("/var/lib/dpkg/info")
ALTERNATIVES = Path("/etc/alternatives")
FOLDERS = tuple(map(Path, ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")))
README_NEEDS = ("apt", "python3", "ca-certificates", "sudo")
"""What the README asks of a machine, beside Debian's essential packages."""
PROGRAMS_OF = {
    "nodejs": ("node",),
    "npm": ("npm", "npx"),
    "chromium": ("chromium", "chromium-browser", "google-chrome"),
}
"""Programs of needed packages that may also come from elsewhere, where a package is not installed."""

Fields = dict[str, str]


def restricted(folder: Path) -> str:
    """Fill ``folder`` with links to those programs and return it as PATH; unchanged where there is no dpkg."""
    if sys.platform != "linux" or not STATUS.exists():
        return os.environ["PATH"]
    folder.chmod(0o755)  # tests that run as another user look there, too
    programs = dict(_programs(_installed(STATUS.read_text("utf-8"))))
    for name, target in programs.items():
        (folder / name).symlink_to(target)
    return str(folder)


def _installed(status: str) -> dict[str, Fields]:
    """Name → fields of the packages that are installed, from dpkg's status file (dpkg(1), deb-control(5))."""
    packages = {}
    for paragraph in status.split("\n\n"):
        fields = dict(re.findall(r"^([A-Za-z-]+): (.*)$", paragraph, re.MULTILINE))
        if fields.get("Status", "").endswith(" installed"):
            packages[fields["Package"]] = fields
    return packages


def _names(relation: str) -> list[str]:
    """Every package that a dependency field names, alternatives included: ``a (>= 1) | b, c:any`` → a, b, c."""
    return [part.split("(")[0].split(":")[0].strip() for part in re.split(r"[,|]", relation) if part.strip()]


def _closure(packages: dict[str, Fields], roots: Iterable[str]) -> set[str]:
    """The roots that are installed, and all that they depend on."""
    provided: dict[str, list[str]] = {}
    for name, fields in packages.items():
        for other in _names(fields.get("Provides", "")):
            provided.setdefault(other, []).append(name)
    found: set[str] = set()
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        waiting += [other for other in provided.get(name, ()) if other not in found]
        if name in packages and name not in found:
            found.add(name)
            waiting += [other for key in ("Depends", "Pre-Depends") for other in _names(packages[name].get(key, ""))]
    return found


def _programs(packages: dict[str, Fields]) -> Iterator[tuple[str, Path]]:
    """Name and path of each program: of packages, chosen by ``update-alternatives``, or a need met from elsewhere."""
    minimal = {
        name
        for name, fields in packages.items()
        if fields.get("Essential") == "yes" or fields.get("Priority") == "required"
    }
    needed = {need.package for need in NEEDS}
    owned = {path for name in _closure(packages, minimal | needed | {*README_NEEDS}) for path in _files(name)}
    yield from ((path.name, path) for path in owned if path.is_file() and os.access(path, os.X_OK))
    links = (path for folder in FOLDERS for path in folder.iterdir() if path.is_symlink())
    chosen = (path for path in links if path.readlink().parent == ALTERNATIVES and path.resolve() in owned)
    yield from ((path.name, path) for path in chosen)
    for package in needed - packages.keys():
        for name in PROGRAMS_OF.get(package, (package,)):
            if found := shutil.which(name):
                yield name, Path(found)


def _files(package: str) -> Iterator[Path]:
    """A package's files in the folders of programs, as they are found where ``/bin`` is a link to ``/usr/bin``."""
    for listed in (*INFO.glob(f"{package}.list"), *INFO.glob(f"{package}:*.list")):
        paths = (Path(line) for line in listed.read_text("utf-8").splitlines())
        yield from (path.parent.resolve() / path.name for path in paths if path.parent in FOLDERS)
