"""Owns the Python environment of a checkout: made whole from a hashed lock file, or not there at all.

It runs before anything is installed, so it uses the standard library alone. The steps, in order:

1. wait for the lock file beside the environment, so that of eight first starts one builds and seven wait;
2. look again: whoever held the lock may have made it;
3. get pip where the system's Python comes without it (Debian);
4. build in ``<environment>.building``, stamp it as the last file, rename it into place.

The lock is an open descriptor that pip inherits: it holds as long as anything still writes, also when this process was
killed. Whatever a killed build left is therefore nobody's, and the next one removes it.
"""

import contextlib
import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, NoReturn

STAMP = "archivebox.stamp"
LOCKS = ("requirements.lock", "requirements-dev.lock")  # the second one holds everything of the first
PIP_TAIL = 15  # lines of pip's output that are shown when it fails


class Place(NamedTuple):
    """Where an environment is, and what it is made of."""

    root: Path
    env: Path
    lock: Path

    @property
    def stamp(self) -> str:
        """The stamp of a whole environment: lock file, its SHA-256, Python version, checkout."""
        digest = hashlib.sha256(self.lock.read_bytes()).hexdigest()
        return f"{self.lock.name}\n{digest}\n{sys.version.split()[0]}\n{self.root}\n"


def say(text: str) -> None:
    """Tells people, on stderr: stdout carries the path of the environment."""
    sys.stderr.write(f"archivebox: {text}\n")
    sys.stderr.flush()


def fail(text: str) -> NoReturn:
    """Ends with one sentence that says what to do."""
    say(text)
    raise SystemExit(1)


def locate(root: Path, wanted: str) -> Place:
    """Chooses the environment's folder and its lock file.

    Beside the checkout if that is writable or already holds a whole one, else in the user's data folder. An environment
    for development stays one when only the program is asked for, as everything the program needs is in it.
    """
    beside = root / ".venv"
    name = wanted or _stamped_lock(beside)
    here = Place(root, beside, root / name)
    if os.access(root, os.W_OK) or not here.lock.is_file() or is_whole(here):
        return here
    data_home = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    env = data_home / "archivebox" / "env" / str(root).strip("/").replace("/", "-")
    return Place(root, env, root / (wanted or _stamped_lock(env)))


def _stamped_lock(env: Path) -> str:
    lines = _read_stamp(env).splitlines()
    return lines[0] if lines and lines[0] in LOCKS else LOCKS[0]


def _read_stamp(env: Path) -> str:
    try:
        return (env / STAMP).read_text()
    except (FileNotFoundError, NotADirectoryError):
        return ""


def is_whole(place: Place) -> bool:
    """True when the environment was built from this very lock file for this checkout and its Python is still there.

    The Python version of the stamp tells people which one it was; a newer patch release of the same interpreter keeps
    the environment, another minor version leaves ``bin/python`` dangling.
    """
    found, expected = _read_stamp(place.env).splitlines(), place.stamp.splitlines()
    same = found[:2] == expected[:2] and found[3:] == expected[3:]
    return same and os.access(place.env / "bin" / "python", os.X_OK)


def refresh_stamp(place: Place) -> None:
    """Gives the stamp the lock file's time, which the launcher compares. No-op where we may not write."""
    seen = place.lock.stat()
    if os.access(place.env / STAMP, os.W_OK):
        os.utime(place.env / STAMP, ns=(seen.st_atime_ns, seen.st_mtime_ns))


@contextlib.contextmanager
def only_one(env: Path) -> Iterator[int]:
    """Holds the build lock of ``env``; its descriptor is what children inherit to hold it on."""
    env.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(env.with_name(env.name + ".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another start that is making the Python environment")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def base_python() -> str:
    """The interpreter by its versioned name (/usr/bin/python3.11), so that an upgrade to another one is noticed."""
    return os.path.realpath(getattr(sys, "_base_executable", sys.executable))


def ensure_pip() -> None:
    """Installs what makes pip available to new environments: Debian's python3 comes with neither pip nor ensurepip."""
    if importlib.util.find_spec("ensurepip"):
        return
    package = f"python{sys.version_info.major}.{sys.version_info.minor}-venv"
    by_hand = f"apt-get install {package}"
    if not shutil.which("apt-get"):
        fail(f"this Python ({sys.executable}) comes without ensurepip; please install pip and venv for it")
    if os.geteuid() == 0:
        prefix: list[str] = []
    elif shutil.which("sudo"):
        prefix = ["sudo"]
        by_hand = f"sudo {by_hand}"
    else:
        fail(f"{package} is needed once; please have an administrator type: {by_hand}")
    say(f"installing {package} (apt), without which Python has no pip")
    if not install_by_apt(prefix, package):
        fail(f"{package} could not be installed; please type: {by_hand}")


def install_by_apt(prefix: list[str], package: str) -> bool:
    """Installs one Debian package without questions; lists are fetched only if missing or too old for it."""
    install = [
        *prefix,
        "env",
        "DEBIAN_FRONTEND=noninteractive",
        "apt-get",
        "install",
        "-qq",
        "-y",
        "--no-install-recommends",
    ]
    quiet = subprocess.PIPE  # apt's progress is of interest only when it fails
    lists = Path("/var/lib/apt/lists")
    output = b""
    nothing = subprocess.DEVNULL  # what is piped to `archivebox add` is for it alone
    if any(lists.glob("*_Packages*")):
        first = subprocess.run([*install, package], stdin=nothing, stdout=quiet, stderr=subprocess.STDOUT, check=False)
        if first.returncode == 0:
            return True
    for command in ([*prefix, "apt-get", "update", "-qq"], [*install, package]):
        done = subprocess.run(command, stdin=nothing, stdout=quiet, stderr=subprocess.STDOUT, check=False)
        output += done.stdout
        if done.returncode:
            sys.stderr.write(output.decode(errors="replace"))
            return False
    return True


def build(place: Place, lock_descriptor: int) -> None:
    """Makes the environment beside its place and renames it in: nothing at its place is ever half."""
    building = place.env.with_name(place.env.name + ".building")
    retired = place.env.with_name(place.env.name + ".retired")
    for left in (building, retired):
        remove(left)
    copy = place.env.with_name(place.env.name + ".requirements")
    shutil.copy2(place.lock, copy)  # the file may change while pip works: what is stamped is what was installed
    wanted = place._replace(lock=copy)
    try:
        make = [base_python(), "-I", "-m", "venv", str(building)]
        subprocess.run(make, check=True, stdin=subprocess.DEVNULL, pass_fds=[lock_descriptor])
        run_pip(building, copy, lock_descriptor)
        settle(wanted, building)
        stamp = building / STAMP
        stamp.write_text(wanted.stamp.replace(copy.name, place.lock.name, 1))
        seen = copy.stat()
        os.utime(stamp, ns=(seen.st_atime_ns, seen.st_mtime_ns))
        os.sync()  # a power cut must not leave the stamp without the files it vouches for
        with contextlib.suppress(FileNotFoundError):
            place.env.rename(retired)
        building.rename(place.env)
    finally:
        for left in (building, retired):
            remove(left)
        copy.unlink(missing_ok=True)


def remove(path: Path) -> None:
    """Removes a folder with all that is in it; of a link the link alone."""
    if path.is_symlink():
        path.unlink()
    else:
        shutil.rmtree(path, ignore_errors=True)


def run_pip(building: Path, requirements: Path, lock_descriptor: int) -> None:
    """Installs what the lock file names: only wheels, only with the hashes it gives. Counts on a terminal."""
    total = sum(1 for line in requirements.read_text().splitlines() if line[:1].isalnum())
    command = [
        str(building / "bin" / "python"),
        "-I",
        "-m",
        "pip",
        "--no-input",
        "--disable-pip-version-check",
        "install",
    ]
    options = ["--require-hashes", "--no-deps", "--only-binary=:all:", "--progress-bar=off", "-r", str(requirements)]
    lines: list[str] = []
    with subprocess.Popen(
        [*command, *options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        pass_fds=[lock_descriptor],
    ) as pip:
        assert pip.stdout is not None  # noqa: S101  (PIPE was asked for)
        for line in pip.stdout:
            lines.append(line)
            if line.startswith("Collecting ") and sys.stderr.isatty():
                got = sum(seen.startswith("Collecting ") for seen in lines)
                sys.stderr.write(f"\r  package {got} of {total}")
                sys.stderr.flush()
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K")
    if pip.returncode:
        sys.stderr.writelines(lines[-PIP_TAIL:])
        fail("the Python packages could not be installed (see above); nothing was changed, so it can be tried again")


def settle(place: Place, building: Path) -> None:
    """Makes the built folder fit the place it will be renamed to.

    The checkout goes on the path by a .pth file, which costs 0.1 ms at a start and, unlike PYTHONPATH, does not reach
    the programs that are started from there. Scripts in bin/ begin with the path of their interpreter.
    """
    packages = next(building.glob("lib/python3*/site-packages"))
    (packages / "archivebox-checkout.pth").write_text(f"{place.root}\n")
    for script in (building / "bin").iterdir():
        if script.is_symlink() or not script.is_file():  # jmespath's jp.py is a script that pip compiles
            continue
        content = script.read_bytes()
        if bytes(building) in content and b"\0" not in content[:1024]:
            script.write_bytes(content.replace(bytes(building), bytes(place.env)))


def main(root: Path, wanted: str) -> int:
    """Prints the path of a whole environment; makes it if there is none."""
    if wanted and wanted not in LOCKS:
        fail(f"unknown lock file {wanted}; there are {' and '.join(LOCKS)}")
    os.umask(0o022)  # root's environment serves everybody
    place = locate(root, wanted)
    if not place.lock.is_file():
        fail(f"{place.lock} is missing; the checkout is not complete")
    if not is_whole(place):
        with only_one(place.env) as descriptor:
            if not is_whole(place):
                ensure_pip()
                say(f"making the Python environment in {place.env} (about a minute, once)")
                build(place, descriptor)
    refresh_stamp(place)
    sys.stdout.write(f"{place.env}\n")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(Path(sys.argv[1]), sys.argv[2]))
    except KeyboardInterrupt:
        say("interrupted; nothing was changed")
        sys.exit(130)
