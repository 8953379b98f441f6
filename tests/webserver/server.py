"""Owns a running ``archivebox server`` on free ports in a folder of its own, and asking it things."""

from __future__ import annotations

import contextlib
import http.client
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlencode

from tests.databases import database_of
from tests.forked import OF_PAGES, CommandLine, ForkedProcess, KillPoint, run_code, serve, serve_pages
from tests.webserver.markup import flat

CHECKOUT = Path(__file__).parents[2]
START = """
import os, sys
from archivebox.config.collection import choose_data_dir
choose_data_dir(None)
os.environ["DJANGO_SETTINGS_MODULE"] = "archivebox.config.settings"
from archivebox.lib.startup import paused_gc
with paused_gc():
    import django
    django.setup()
    from archivebox.workers.supervise.supervisord_util import serve
sys.exit(serve(sys.argv[1]))
"""
"""What the command line does for `archivebox server`."""


def free_ports() -> int:
    """A port that is free, as is the next.

    Below those that the kernel gives to outgoing connections and to who asks for any (``ip_local_port_range``), so
    that nobody takes one of them in the seconds until the server does.
    """
    for _ in range(50):
        port = random.randrange(20_000, 32_000)
        with socket.socket() as one, socket.socket() as next_one:
            try:
                one.bind(("127.0.0.1", port))
                next_one.bind(("127.0.0.1", port + 1))
            except OSError:
                continue
            return port
    raise RuntimeError("no two free ports beside each other")


def environment(folder: Path, **more: str) -> dict[str, str]:
    left_out = ("ARCHIVEBOX_", "DJANGO_", "PRIVATE_NETWORK_ALLOWLIST")  # whom the door lets in is tested here
    keep = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    return {**keep, "DATA_DIR": str(folder), "PYTHONPATH": str(CHECKOUT), **database_of(folder), **more}


def in_collection(folder: Path, code: str, *arguments: str) -> str:
    """Run ``code`` in a process of its own with Django set up on the collection; returns what it printed."""
    done = run_code(CommandLine([code, *arguments], environment(folder), CHECKOUT), timeout=120)
    assert done.code == 0, done.err.decode()
    return done.out.decode().strip()


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes
    cookies: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """What it says; a page as ``flat`` markup."""
        text = self.body.decode("utf-8", "replace")
        return flat(text) if self.headers.get("content-type", "").startswith("text/html") else text


@dataclass
class Server:
    """The processes under one ``archivebox server``."""

    folder: Path
    settings: dict[str, str] = field(default_factory=dict)
    starter: tuple[str, ...] = ()
    """A command that becomes the server's."""

    def __enter__(self) -> Self:
        self.port = free_ports()
        self.log = self.folder.parent / f"{self.folder.name}.{self.port}.out"
        self.cli = self._start(environment(self.folder, **self.settings), f"127.0.0.1:{self.port}")
        try:
            self.wait_for(lambda: "ArchiveBox is at" in self.output or self.cli.poll() is not None, 90)
            assert self.cli.poll() is None, self.output
        except BaseException:
            self.stop()
            raise
        return self

    def _start(self, env: dict[str, str], bind: str) -> subprocess.Popen[bytes] | ForkedProcess:
        """Forked from a process that has ArchiveBox in memory, unless another command becomes it."""
        if not self.starter:
            self.log.touch()
            return ForkedProcess(serve, env, bind, self.log)
        command = [*self.starter, sys.executable, "-c", START, bind]
        with self.log.open("wb") as out:
            return subprocess.Popen(command, env=env, stdout=out, stderr=out, cwd=CHECKOUT)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self, signum: int = signal.SIGTERM) -> int:
        if self.cli.poll() is None:
            self.cli.send_signal(signum)
        return self.cli.wait(120)

    @property
    def output(self) -> str:
        return self.log.read_text() if self.log.exists() else ""

    @property
    def web_log(self) -> str:
        """What the web server has written last."""
        log = self.folder / "logs" / "web.log"
        return log.read_text()[-4000:] if log.exists() else ""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def replay_port(self) -> int:
        return self.port + 1

    def link(self) -> str:
        """The path of the log-in link that was printed."""
        self.wait_for(lambda: "/login/link/" in self.output, 90)
        found = re.search(r"http://\S+(/login/link/\S+)", self.output)
        assert found, self.output
        return found.group(1)

    def wait_for(self, condition: object, seconds: float) -> None:
        assert callable(condition)
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, f"did not happen within {seconds} s:\n{self.output}\n{self.web_log}"
            time.sleep(0.05)

    def processes(self) -> dict[str, int]:
        """The pids of supervisord and the web server, from their rows."""
        code = (
            "from archivebox.machine.models import Process\n"
            "for row in Process.objects.running(): print(row.worker_type or row.process_type, row.pid)"
        )
        lines = in_collection(self.folder, code).splitlines()
        return {name: int(pid) for name, pid in (line.split() for line in lines)}

    # --- asking -----------------------------------------------------------------------------------------------

    def ask(
        self, path: str, *, port: int = 0, host: str = "", method: str = "GET", body: bytes = b"", **headers: str
    ) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=90)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        sent["Host"] = host or f"127.0.0.1:{port or self.port}"
        try:
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            cookies = [value for name, value in answer.getheaders() if name.lower() == "set-cookie"]
            named = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, named, answer.read(), cookies)
        finally:
            connection.close()


@dataclass
class WebServer(Server):
    """The web server alone, forked from a process that has its pages in memory: nothing is captured, no job is done."""

    kill_point: KillPoint | None = None

    def __enter__(self) -> Self:
        self.port = free_ports()
        self.log = self.folder / "logs" / "web.log"
        addresses = (f"127.0.0.1:{self.port}", f"127.0.0.1:{self.replay_port}")
        env = environment(self.folder, **self.settings)
        self.cli = ForkedProcess(serve_pages, env, *addresses, self.log, self.kill_point, preload=OF_PAGES)
        try:
            self.wait_for(lambda: self._is_listening() or self.cli.poll() is not None, 90)
            assert self.cli.poll() is None, self.web_log
        except BaseException:
            self.stop()
            raise
        return self

    def _is_listening(self) -> bool:
        with contextlib.suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", self.port)):
            return True
        return False


@dataclass
class Visitor:
    """Somebody with a cookie jar who fills in forms as they are."""

    server: Server
    jar: dict[str, str] = field(default_factory=dict)
    headers: dict[str, Any] = field(default_factory=dict)

    def get(self, path: str) -> Answer:
        return self._kept(self.server.ask(path, Cookie=self._cookie(), **self.headers))

    def post(self, path: str, form_at: str = "", **fields: str) -> Answer:
        """Send the form that the page ``form_at`` (else ``path`` itself) shows, with its CSRF token."""
        page = self.get(form_at or path)
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text)
        assert token, f"no form on {form_at or path}: {page.status}"
        body = urlencode({"csrfmiddlewaretoken": token.group(1), **fields}).encode()
        kind = "application/x-www-form-urlencoded"
        sent: dict[str, Any] = {"Cookie": self._cookie(), "Content-Type": kind, **self.headers}
        return self._kept(self.server.ask(path, method="POST", body=body, **sent))

    def log_in(self, username: str, password: str) -> Answer:
        return self.post("/login/", username=username, password=password)

    def _cookie(self) -> str:
        return "; ".join(f"{name}={value}" for name, value in self.jar.items())

    def _kept(self, answer: Answer) -> Answer:
        for cookie in answer.cookies:
            name, _, rest = cookie.partition("=")
            value = rest.partition(";")[0]
            if value in {"", '""'}:
                self.jar.pop(name, None)
            else:
                self.jar[name] = value
        return answer
