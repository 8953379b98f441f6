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
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.suite.packages import postgres_folder

ROLE = "archivebox"
START_SECONDS = 60
STOP_SECONDS = 20
POLL_SECONDS = 0.1
INITDB = ("-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
# Nothing here outlives the tests, so nothing has to survive a power cut.
OPTIONS = ("fsync=off", "full_page_writes=off", "max_connections=200")


class Cluster:
    """A fresh cluster that answers on a socket in a folder, and on an ``address`` in a network namespace.

    ``entered``: the beginning of a command line that runs the rest in that namespace.
    """

    def __init__(self, programs: Path, folder: Path, entered: Sequence[str] = (), address: str = "") -> None:
        self._entered, self._address = entered, address
        self.url = f"postgres://{ROLE}@/{ROLE}?host={folder}"
        self._programs, self._folder, self._user = programs, folder, _server_user()
        if self._user is not None:
            os.chown(folder, self._user.pw_uid, self._user.pw_gid)
        initdb: list[str | Path] = [programs / "initdb", "-D", folder / "data", "-U", ROLE, *INITDB]
        subprocess.run(_as_user(self._user, *map(str, initdb)), check=True, stdout=subprocess.DEVNULL, cwd=folder)
        if address:
            with (folder / "data" / "pg_hba.conf").open("a") as rules:
                rules.write(f"host all all {address}/24 trust\n")
        self._server: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start its server, and wait until it answers."""
        data, options = str(self._folder / "data"), (*OPTIONS, f"listen_addresses={self._address}")
        settings = [f"-c{option}" for option in options]
        command = [str(self._programs / "postgres"), "-D", data, "-k", str(self._folder), *settings]
        with (self._folder / "log").open("ab") as log:
            # A session of its own: Ctrl-C is for the tests, which end first.
            self._server = subprocess.Popen(
                [*self._entered, *_as_user(self._user, *command)],
                stdout=log,
                stderr=log,
                cwd=self._folder,
                start_new_session=True,
            )
        _wait_until_ready(self._server, self._programs, self._folder)

    def make_database(self) -> None:
        subprocess.run([self._programs / "createdb", "-h", self._folder, "-U", ROLE, ROLE], check=True)

    def stop(self) -> None:
        """End its server, and every connection with it; the data stay."""
        if self._server is not None:
            _stop(self._server)


@contextlib.contextmanager
def cluster(entered: Sequence[str] = (), address: str = "") -> Iterator[Cluster]:
    """Yields one that is at work, in a temporary folder, and ends it."""
    programs = postgres_folder()
    if programs is None:
        raise SystemExit("PostgreSQL's server programs are not installed (Debian: postgresql)")
    folder = Path(tempfile.mkdtemp(prefix="archivebox-pg-"))  # short: a socket's path has at most 107 bytes
    try:
        fresh = Cluster(programs, folder, entered, address)
        try:
            fresh.start()
            fresh.make_database()
            yield fresh
        finally:
            fresh.stop()
    finally:
        shutil.rmtree(folder)


@contextlib.contextmanager
def throw_away_cluster() -> Iterator[str]:
    """Yields the ``DATABASE_URL`` of one."""
    with cluster() as fresh:
        yield fresh.url


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
                return child.wait(POLL_SECONDS)
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
