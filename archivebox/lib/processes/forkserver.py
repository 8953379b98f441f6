"""The worker's end of the fork server: Python hooks started in 5 ms instead of 26 to 80."""

import contextlib
import errno
import json
import os
import select
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from archivebox.lib.processes.children import Child, block_on, block_on_pidfd, keep
from archivebox.lib.processes.exits import ExitStatus
from archivebox.lib.processes.identity import ProcessIdentity
from archivebox.lib.processes.launch import MARK, Launch
from archivebox.lib.processes.marks import NOBODY
from archivebox.lib.processes.platform import PORTABLE
from archivebox.lib.processes.spawn import open_output
from archivebox.lib.processes.spawnlog import open_spawn_log, started_template
from archivebox.lib.processes.subreaper import poll_directly, reap_directly

_SERVER = str(Path(__file__).with_name("forkserver_main.py"))
_TITLE_ROOM = 2048
"""Bytes kept free in the server's command line, for that of the hook to be written over it."""
_MESSAGE_MAX = 200_000
"""Bytes of a message: below the kernel's default send buffer, 212,992."""
_INHERITED = ("PATH", "HOME", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR")
_INTERPRETER_FREE = {"PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"}
"""Variables of the interpreter that take effect after its start as well; others need a cold one."""

MESSAGE_SECONDS = 0.01
"""Longest sleep between the end of a process and the message about it."""

ANSWER_SECONDS = 5.0
"""Seconds in which a warm fork server forks, or tells of an end; it takes 1 ms. Then it hangs, or was stopped."""

WARM_UP_SECONDS = 30.0
"""Seconds in which a fork server has to be ready; it takes 0.1 on an idle machine."""

Listener = Callable[["ForkedChild", ExitStatus | None], None]
"""Told of each child that ended, and with None of each that lost its server, which must be watched directly then."""


class ForkServerGone(Exception):  # noqa: N818  a state that callers expect, with a fallback: start it cold
    """The fork server does not take this start; nothing was started, start it cold."""


class ForkServer:
    """One warm Python, and the children forked from it.

    ``preload`` names modules, and ``later`` those that it imports once it has started something and nobody has asked
    for more; ``sys_path`` has folders to find them in. ``data_dir`` and ``process_id`` mark the server itself.
    Thread-safe. It dies with the *thread* that called ``start`` (PR_SET_PDEATHSIG): one that stays.
    """

    def __init__(
        self,
        *,
        python: str,
        preload: Sequence[str],
        log: Path,
        spawn_log: Path | None,
        later: Sequence[str] = (),
        sys_path: Sequence[str] = (),
        data_dir: Path | None = None,
        process_id: str | None = None,
    ) -> None:
        self.python = python
        self.listener: Listener | None = None
        self._preload, self._later, self._sys_path = list(preload), list(later), list(sys_path)
        self._log, self._spawn_log = log, spawn_log
        self._environment = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        self._environment[MARK] = process_id or NOBODY
        if data_dir is not None:
            self._environment["DATA_DIR"] = str(data_dir)
        self._lock = threading.RLock()
        self._channel: socket.socket | None = None
        self._popen: subprocess.Popen[bytes] | None = None
        self._is_warm = False
        self._children: dict[int, ForkedChild] = {}
        self._untold: dict[int, float] = {}
        """Children that have ended without a word of it, and since when that is known (monotonic clock)."""
        self._answer: Mapping[str, object] | None = None

    @staticmethod
    def available() -> bool:
        """Whether hooks can be forked here: Linux only (frameworks of macOS do not survive a fork)."""
        return not PORTABLE

    @property
    def alive(self) -> bool:
        return self._channel is not None

    @property
    def has_children(self) -> bool:
        """Whether it would leave somebody to us."""
        return bool(self._children)

    @property
    def returncode(self) -> int | None:
        """How the server ended, as Popen says it; None while it runs or before it was started."""
        return None if self._popen is None else self._popen.returncode

    @property
    def identity(self) -> ProcessIdentity | None:
        """The server's own process; None when it is not running."""
        return ProcessIdentity.of(self._popen.pid) if self._popen is not None and self.alive else None

    def start(self, timeout: float = WARM_UP_SECONDS) -> None:
        """Start it and wait until it is warm (0.1 s); ForkServerGone when that fails, its log says why."""
        self.begin()
        self.wait_until_warm(timeout)

    def begin(self) -> None:
        """Start it, and let it warm up; the first :meth:`spawn` waits for what is left of that."""
        if not self.available():
            raise ForkServerGone("there is no fork server on this platform")
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        try:
            self._popen = self._launch(theirs)
        finally:
            theirs.close()
        self._channel, self._is_warm = ours, False

    @property
    def is_warm(self) -> bool:
        """Whether it can fork at once."""
        with self._lock:
            self.handle_messages()
            if not self._is_warm and self._answer is not None:
                self._answer, self._is_warm = None, True
            return self._is_warm and self.alive

    def wait_until_warm(self, timeout: float = WARM_UP_SECONDS) -> None:
        """Sleep until it can fork; ForkServerGone when it ends before, or takes longer."""
        with self._lock:
            if self._is_warm:
                return
            try:
                self._await_answer(time.monotonic() + timeout)
            except TimeoutError:
                self._lose()
                raise ForkServerGone(f"the fork server was not ready within {timeout} s") from None
            self._is_warm = True

    def _launch(self, theirs: socket.socket) -> "subprocess.Popen[bytes]":
        log, spawn_log = open_output(self._log), None
        try:
            spawn_log = open_spawn_log(self._spawn_log) if self._spawn_log is not None else None
            arguments = {
                "channel": theirs.fileno(),
                "spawn_log": spawn_log,
                "parent": os.getpid(),
                "sys_path": self._sys_path,
                "preload": self._preload,
                "later": self._later,
            }
            fds = (theirs.fileno(),) if spawn_log is None else (theirs.fileno(), spawn_log)
            return subprocess.Popen(
                [self.python, "-I", _SERVER, json.dumps(arguments).ljust(_TITLE_ROOM)],
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                pass_fds=fds,
            )
        finally:
            os.close(log)
            if spawn_log is not None:
                os.close(spawn_log)

    def spawn(self, launch: Launch) -> "ForkedChild":
        """Fork ``launch`` as ``__main__`` of the warm Python.

        Raises ForkServerGone when it must be started cold (nothing has run then: the child waits for our go), OSError
        when its folder or output files cannot be opened.
        """
        request = self._request(launch)
        self.wait_until_warm()
        with contextlib.ExitStack() as stack:
            fds = [open_output(launch.stdout)]
            stack.callback(os.close, fds[0])
            fds.append(open_output(launch.stderr))
            stack.callback(os.close, fds[1])
            fds.append(os.open(launch.cwd, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
            stack.callback(os.close, fds[2])
            waits, go = os.pipe()
            stack.callback(os.close, waits)
            stack.callback(os.close, go)
            with self._lock:
                self._send(request, [*fds, waits, *launch.pass_fds])
                child = self._started(launch)
            with contextlib.suppress(BrokenPipeError):  # killed before it could begin: its status will say so
                os.write(go, b"g")
        return child

    def _request(self, launch: Launch) -> bytes:
        argv = launch.argv
        if launch.script is None or len(argv) < 2 or (argv[0], argv[1]) != (self.python, str(launch.script)):
            raise ForkServerGone("not a script of this interpreter, or one with options of its own")
        env = launch.marked_environment()
        if any(name.startswith("PYTHON") and name not in _INTERPRETER_FREE for name in env):
            raise ForkServerGone("its environment changes how the interpreter starts")
        if len(launch.process_id) > len(NOBODY):
            raise ForkServerGone("its mark is longer than the room for it")
        message = {
            "process_id": launch.process_id,
            "script": argv[1],
            "argv": argv[1:],
            "title": argv,
            "env": env,
            "limit": launch.file_size_limit,
            "pass_fds": launch.pass_fds,
            "started": started_template(launch.process_id, ProcessIdentity.current()),
        }
        data = json.dumps(message).encode()
        if len(data) > _MESSAGE_MAX:
            raise ForkServerGone("its arguments and environment are larger than a message")
        return data

    def _started(self, launch: Launch) -> "ForkedChild":
        try:
            answer = self._await_answer(time.monotonic() + ANSWER_SECONDS)
        except TimeoutError:
            self._lose()
            raise ForkServerGone(f"the fork server did not answer within {ANSWER_SECONDS} s") from None
        pid, ticks = answer.get("started"), answer.get("ticks")
        if not isinstance(pid, int) or not isinstance(ticks, int):
            raise ForkServerGone(f"the fork server refused: {answer.get('refused')}")
        child = ForkedChild(launch.process_id, ProcessIdentity.current().of_neighbour(pid, ticks), self)
        self._children[pid] = child
        keep(child)
        return child

    def fileno(self) -> int:
        """Descriptor that is readable when there are messages; ForkServerGone without a server."""
        if self._channel is None:
            raise ForkServerGone("the fork server is not running")
        return self._channel.fileno()

    def handle_messages(self) -> None:
        """Take every message that is there; children's statuses are set, the listener told. Never blocks."""
        with self._lock:
            while self._channel is not None and self._receive():
                pass

    def end_if_stuck(self) -> None:
        """Call it now and then: ends a server that does not tell of its children's ends, as one that was stopped.

        Its children are ours then, with their exit codes.
        """
        with self._lock:
            self.handle_messages()
            now = time.monotonic()
            ended = [pid for pid, child in self._children.items() if child.identity.is_zombie()]
            self._untold = {pid: self._untold.get(pid, now) for pid in ended}
            if any(now - since > ANSWER_SECONDS for since in self._untold.values()):
                self._lose()

    def _receive(self) -> bool:
        """Take one message; False: there is none."""
        if self._channel is None:
            return False
        try:
            data = self._channel.recv(_MESSAGE_MAX + 4096)
        except BlockingIOError:
            return False
        except ConnectionResetError:
            data = b""
        if not data:
            self._lose()
            return False
        message = json.loads(data)
        if "ended" in message:
            self._ended(message["ended"], ExitStatus(*message["status"]))
        else:
            self._answer = message
        return True

    def _ended(self, pid: int, status: ExitStatus) -> None:
        child = self._children.pop(pid)
        child.set_exit_status(status)
        if self.listener is not None:
            self.listener(child, status)

    def _lose(self) -> None:
        """The server is gone, or must be. Waits until the kernel has given us its children, then hands them over."""
        if self._channel is None or self._popen is None:
            return
        self._channel.close()
        self._channel = None
        self._popen.kill()
        self._popen.wait()
        orphans, self._children = self._children, {}
        for child in orphans.values():
            if self.listener is not None:
                self.listener(child, None)

    def _await_answer(self, deadline: float) -> Mapping[str, object]:
        while self._answer is None:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self._sleep(select.POLLIN, left)
            self._receive()
            if self._answer is None and self._channel is None:
                raise ForkServerGone("the fork server has died")
        answer, self._answer = self._answer, None
        return answer

    def _sleep(self, events: int, seconds: float) -> None:
        poll = select.poll()
        poll.register(self.fileno(), events)
        poll.poll(seconds * 1000)

    def _send(self, data: bytes, fds: Sequence[int] = ()) -> None:
        """Send one message, taking what comes in while there is no room: else each end could wait for the other."""
        deadline = time.monotonic() + ANSWER_SECONDS
        while self._channel is not None:
            try:
                socket.send_fds(self._channel, [data], fds)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    self._lose()
                    break
                self._sleep(select.POLLIN | select.POLLOUT, ANSWER_SECONDS)
                self._receive()
            except OSError as error:
                if error.errno not in {errno.EPIPE, errno.ECONNRESET}:
                    raise
                self.handle_messages()
            else:
                return
        raise ForkServerGone("the fork server is not running")

    def reap_pid(self, pid: int) -> bool:
        """Let the server reap a child; False: there is no server any more, and the zombie is ours."""
        with self._lock:
            try:
                self._send(json.dumps({"reap": pid}).encode())
            except ForkServerGone:
                return False
            return True

    def close(self) -> None:
        """End the server; its children run on and become ours, if this process is a subreaper."""
        with self._lock:
            if self._channel is not None:
                self.handle_messages()
            self._lose()


class ForkedChild(Child):
    """A child of the fork server; once that is dead, a child of the nearest subreaper, which may be us."""

    def __init__(self, process_id: str, identity: ProcessIdentity, server: ForkServer) -> None:
        self.process_id = process_id
        self.identity = identity
        self._server = server
        self._status: ExitStatus | None = None
        self._reaped = False

    @property
    def is_served(self) -> bool:
        """Whether its status comes from its server; else it is polled directly."""
        return self._status is not None or self._server.alive

    def set_exit_status(self, status: ExitStatus) -> None:
        """The fork server's word on how it ended."""
        self._status = status

    def peek(self) -> ExitStatus | None:
        if self._status is None:
            self._server.handle_messages()
        if self._status is None and not self._server.alive:
            self._status = poll_directly(self.identity)
        return self._status

    def _reap(self) -> None:
        if not self._reaped and not self._server.reap_pid(self.identity.pid):
            reap_directly(self.identity)
        self._reaped = True

    def block(self, seconds: float | None) -> None:
        """Woken by the process itself too: another thread may take the message that we would sleep on."""
        try:
            messages = self._server.fileno()
        except ForkServerGone:
            block_on_pidfd(self.identity, seconds)
            return
        if self.identity.is_zombie():  # its status is on the way, or has been taken just now
            block_on([messages], MESSAGE_SECONDS if seconds is None else min(seconds, MESSAGE_SECONDS))
        else:
            block_on_pidfd(self.identity, seconds, also=(messages,))
