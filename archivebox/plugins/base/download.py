"""Downloads by a program: in a folder of their own until they are whole, and within a size."""

from __future__ import annotations

import os
import resource
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path

from archivebox.plugins.base.hook import misconfigured
from archivebox.plugins.base.programs import run_program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from archivebox.plugins.base.programs import Finished
    from archivebox.plugins.base.settings import Settings

SPARE = 10.0  # seconds of a hook's time to put things in place before the engine ends it
PARTIAL = ".partial-"  # the folder that a run writes to, whose entries are renamed into place at its end


@contextmanager
def partial_folder() -> Iterator[Path]:
    """A folder for this run, gone afterwards; those of runs that were killed go first."""
    for name in os.listdir():
        if name.startswith(PARTIAL):
            shutil.rmtree(name, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=PARTIAL, dir=".", ignore_cleanup_errors=True) as name:
        yield Path(name)


def download(command: Sequence[str], folder: Path, *, limit: int, timeout: float) -> Finished:
    """Run a downloader in the folder of its run, whose files may have `limit` bytes each (0: any number).

    HOME is that folder, so that nothing of the person's own is read: settings, passwords of ~/.netrc, other cookies.
    The environment names the crawl's proxy (`http_proxy` and so on), which such programs use.
    """
    with file_size_limit(limit):
        return run_program(
            command, timeout=timeout, cwd=str(folder), env={**os.environ, "HOME": str(folder.absolute())}
        )


def time_to_download(settings: Settings, plugin: str) -> float:
    """Seconds that a plugin's program may take, so that the hook can tell what came of it within its own time."""
    seconds = settings.timeout(plugin)
    return seconds - min(SPARE, seconds / 4)


def visible_files(folder: Path) -> list[Path]:
    """The finished files of a run, in order; unfinished ones are called `.part`, and hidden ones are its own."""
    found = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".part")
    return sorted(path for path in found if not any(part.startswith(".") for part in path.relative_to(folder).parts))


def put_in_place(files: Iterable[Path], folder: Path) -> list[str]:
    """Rename files of a run into the hook's folder, where they lie as they did in the run's; return their names."""
    names = []
    for file in files:
        target = file.relative_to(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        file.replace(target)
        names.append(str(target))
    return names


@contextmanager
def file_size_limit(limit: int) -> Iterator[None]:
    """No file of a program started in here grows past `limit` bytes, whatever it knows of sizes; 0 means no limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    if limit and (hard == resource.RLIM_INFINITY or limit < hard):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def lend_cookies(path: str, folder: Path) -> str:
    """A copy of a cookie file for a program that writes back to it, gone with `folder`; "" where there is none."""
    if not path:
        return ""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        misconfigured(f"The cookies in {path} cannot be read: {error.strerror}")
    lent = folder / ".cookies.txt"
    descriptor = os.open(lent, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "wb") as file:
        file.write(content)
    return str(lent.absolute())
