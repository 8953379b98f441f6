"""Runs a throw-away server that speaks S3 (OpenStack Swift) for as long as a block lasts.

``python -m tests.suite.swift ENDPOINT BUCKET`` makes a bucket, with the credentials of the environment.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote
from urllib.request import Request, urlopen

PYTHON = "/usr/bin/python3"
"""The interpreter that Debian's packages of Swift are for."""
SERVER = Path(__file__).with_name("swift_server.py")
STOP_SECONDS = 20
PAGE = 50
"""Keys of one answer to a listing, where others have 1,000: a listing of more answers costs less to test."""
USER, SECRET_KEY = "tester", "testing"


class SwiftServer:
    """A server, whose objects are in a folder. (This needs a file system with xattrs.)

    ``entered``: the beginning of a command line that runs the rest in a network namespace, where it has ``address``.
    """

    def __init__(self, folder: Path, entered: Sequence[str] = (), address: str = "127.0.0.1") -> None:
        self._folder, self.port = folder, 0
        self.entered, self._address = entered, address
        self._server: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, with what it had before and where it was before, and wait until it answers."""
        listens = f"{self._address}:{self.port}"
        command: list[str | Path | int] = [PYTHON, "-I", SERVER, self._folder, listens, USER, SECRET_KEY, PAGE]
        with (self._folder / "log").open("ab") as log:
            self._server = subprocess.Popen(
                [*self.entered, *_ended_with_us(), *map(str, command)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=self._folder,
                start_new_session=True,
            )
        assert self._server.stdout is not None
        line = self._server.stdout.readline()
        if not line:
            raise RuntimeError(f"Swift did not start:\n{(self._folder / 'log').read_text(errors='replace')}")
        self.port = int(line)

    def stop(self) -> None:
        """End it, and every connection with it; the data stay."""
        if self._server is not None:
            self._server.kill()
            self._server.wait(STOP_SECONDS)
            for pipe in (self._server.stdin, self._server.stdout):
                if pipe is not None:
                    pipe.close()
            self._server = None

    @contextlib.contextmanager
    def stalled(self) -> Iterator[None]:
        """It takes connections, and does not answer."""
        assert self._server is not None
        self._server.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._server.send_signal(signal.SIGCONT)

    @property
    def environment(self) -> Mapping[str, str]:
        """The credentials; and nothing asks a cloud for others."""
        keys = {"AWS_ACCESS_KEY_ID": f"test:{USER}", "AWS_SECRET_ACCESS_KEY": SECRET_KEY}
        return {**keys, "AWS_EC2_METADATA_DISABLED": "true"}

    @property
    def endpoint(self) -> str:
        return f"http://{self._address}:{self.port}"

    def url(self, bucket: str, prefix: str = "") -> str:
        """What ``STORAGE_URL`` may be. The bucket has to be made first."""
        return f"s3://{bucket}/{prefix}?endpoint={quote(self.endpoint, safe='')}"


@contextlib.contextmanager
def swift_server(entered: Sequence[str] = (), address: str = "127.0.0.1") -> Iterator[SwiftServer]:
    """Yields one that is at work, in a temporary folder, and ends it."""
    folder = Path(tempfile.mkdtemp(prefix="archivebox-swift-"))
    server = SwiftServer(folder, entered, address)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)  # what it began to write may be ending


def make_bucket(server: SwiftServer, name: str) -> None:
    """Where the server is in a namespace, only a process in there reaches it."""
    if not server.entered:
        create_bucket(server.endpoint, name)
        return
    command = [*server.entered, sys.executable, "-m", "tests.suite.swift", server.endpoint, name]
    subprocess.run(command, check=True, env={**os.environ, **server.environment}, cwd=Path(__file__).parents[2])


def create_bucket(endpoint: str, name: str) -> None:
    """By Swift's own API, where a bucket is a container; with the credentials of the environment."""
    keys = {"X-Auth-User": os.environ["AWS_ACCESS_KEY_ID"], "X-Auth-Key": os.environ["AWS_SECRET_ACCESS_KEY"]}
    with urlopen(Request(f"{endpoint}/auth/v1.0", headers=keys)) as answer:
        account, token = answer.headers["X-Storage-Url"], answer.headers["X-Auth-Token"]
    urlopen(Request(f"{account}/{name}", headers={"X-Auth-Token": token}, method="PUT")).close()


def _ended_with_us() -> list[str]:
    """The server ends with whoever started it, however that ends."""
    return ["setpriv", "--pdeathsig=TERM"] if shutil.which("setpriv") else []


if __name__ == "__main__":
    create_bucket(*sys.argv[1:])
