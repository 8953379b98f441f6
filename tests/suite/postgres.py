"""Runs a throw-away PostgreSQL cluster for as long as a block or a command lasts.

As a command: ``bin/with-postgres COMMAND …`` runs COMMAND with ``DATABASE_URL`` set.
"""

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.suite.packages import postgres_folder

ROLE = "archivebox"
START_SECONDS = 60
STOP_SECONDS = 20
LOOK_SECONDS = 0.1
# Nothing here outlives the tests, so nothing has to survive a power cut.
OPTIONS = ("fsync=off", "full_page_writes=off", "synchronous_commit=off", "listen_addresses=", "max_connections=200")


@contextlib.contextmanager
def throw_away_cluster() -> Iterator[str]:
    """Yields the ``DATABASE_URL`` of a fresh cluster that answers on a socket in a temporary folder, and ends it."""
    programs = postgres_folder()
    if programs is None:
        raise SystemExit("PostgreSQL's server programs are not installed (Debian: postgresql)")
    folder = Path(tempfile.mkdtemp(prefix="archivebox-pg-"))  # short: a socket's path has at most 107 bytes
    user = _server_user()
    try:
        if user is not None:
            os.chown(folder, user.pw_uid, user.pw_gid)
        data = folder / "data"
        initdb: list[str | Path] = [
            programs / "initdb",
            "-D",
            data,
            "-U",
            ROLE,
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--no-locale",
            "--no-sync",
        ]
        subprocess.run(_as_user(user, *map(str, initdb)), check=True, stdout=subprocess.DEVNULL, cwd=folder)
        settings = [f"-c{option}" for option in OPTIONS]
        command = _as_user(user, str(programs / "postgres"), "-D", str(data), "-k", str(folder), *settings)
        with (folder / "log").open("wb") as log:
            # A session of its own: Ctrl-C is for the tests, which end first.
            server = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, start_new_session=True)
        try:
            _wait_until_ready(server, programs, folder)
            subprocess.run([programs / "createdb", "-h", folder, "-U", ROLE, ROLE], check=True)
            yield f"postgres://{ROLE}@/{ROLE}?host={folder}"
        finally:
            _stop(server)
    finally:
        shutil.rmtree(folder)


def _server_user() -> pwd.struct_passwd | None:
    """Whom the server runs as: PostgreSQL refuses root, so root uses the package's user. None: as we are."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam("postgres")
    except KeyError:
        return pwd.getpwnam("nobody")


def _as_user(user: pwd.struct_passwd | None, *command: str) -> list[str]:
    """The command as that user, and told to stop (SIGINT, PostgreSQL's fast shutdown) if this process is killed."""
    if not shutil.which("setpriv"):
        return list(command)
    ids = [f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"] if user else []
    return ["setpriv", "--pdeathsig=INT", *ids, "--", *command]


def _wait_until_ready(server: subprocess.Popen[bytes], programs: Path, folder: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    ask: list[str | Path] = [programs / "pg_isready", "-q", "-h", folder, "-U", ROLE, "-d", "postgres"]
    while subprocess.run(ask, check=False).returncode != 0:
        if server.poll() is not None or time.monotonic() > deadline:
            raise SystemExit(f"PostgreSQL did not start:\n{(folder / 'log').read_text(errors='replace')}")
        time.sleep(0.1)


def _stop(server: subprocess.Popen[bytes]) -> None:
    server.send_signal(signal.SIGINT)
    try:
        server.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        server.send_signal(signal.SIGQUIT)  # immediate shutdown, which ends its children too
        server.wait()


def end_on_signals() -> None:
    """Makes TERM and HUP leave through the ``finally`` blocks, as Ctrl-C does."""

    def leave(signum: int, _frame: object) -> None:
        raise SystemExit(128 + signum)

    for signum in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, leave)


def run_command(command: list[str], env: dict[str, str]) -> int:
    """Runs a command to its end; told to end, it tells the command, and waits for it.

    Signals are noted and looked for: an exception in the middle of the start would lose the child.
    """
    told: list[int] = []
    ends = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
    before = {signum: signal.signal(signum, lambda number, _: told.append(number)) for signum in ends}
    try:
        child = subprocess.Popen(command, env=env)
        while not told:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return child.wait(LOOK_SECONDS)
        child.terminate()
        child.wait()
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)
    raise SystemExit(128 + told[0])


def main(command: list[str]) -> int:
    """Runs the command on a cluster of its own and returns its exit status."""
    if not command:
        raise SystemExit("usage: bin/with-postgres COMMAND [ARGUMENT …]")
    end_on_signals()
    with throw_away_cluster() as url:
        return run_command(command, {**os.environ, "DATABASE_URL": url})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
