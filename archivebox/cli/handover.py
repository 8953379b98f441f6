"""Hands a command over to the process that a running server keeps ready for it, and waits for its end.

Imports nothing but the standard library: Django and the models take ten times as long as what is done here. What may
not be carried out there is carried out here, as without a server.
"""

import fcntl
import json
import os
import signal
import socket
import struct
import sys
from types import FrameType
from typing import Any, NamedTuple

from archivebox import __version__

COMMANDS = frozenset({"add"})
"""Commands that people wait for while a server does the work."""
RUN, SOCKET = "run", "commands.sock"
"""Folder of the collection, and file in it (``DataFolder.commands_socket``; pathlib alone would take 12 ms)."""
DATA_DIR = "--data-dir"
LONGEST = 100_000
"""Bytes of a request: one message of a socket has 200,000 (net.core.wmem_max)."""
BEGIN_TIME = 2.0
"""Seconds in which the server's process has to begin; it takes a hundredth of one."""
GO = b"go"
"""Said by whoever typed the command: without it nothing is done, so that no command is carried out twice."""
FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
STARTS_OTHERWISE = ("PYTHON", "DJANGO_", "ARCHIVEBOX_")
"""Beginnings of variables that take effect while Python starts and modules are imported."""
HARMLESS = frozenset({"PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "ARCHIVEBOX_PROCESS_ID"})
"""Of these, what changes nothing here: where our code lies is compared by itself."""
PRESET = {"DJANGO_SETTINGS_MODULE": "archivebox.config.settings"}
"""What is set where it is not."""
OF_THIS_PROCESS = ("/dev/fd/", "/dev/std", "/proc/")
"""Beginnings of paths that mean something else in another process."""
LOST = "The server ended before it had accepted this command. `archivebox crawl list` shows whether the crawl is there."


class CommandRequest(NamedTuple):
    """A command as it was typed; its standard streams and its folder come along as descriptors."""

    argv: list[str]
    typed: list[str]
    """With the interpreter and its options."""
    env: dict[str, str]
    umask: int
    ignored: list[int]
    """Signals that are ignored, as ``nohup`` has it."""
    program: list[str]
    """Which ArchiveBox was started: see :func:`program`."""


def program() -> list[str]:
    """What has to be the same for a process to stand in for another: interpreter, code and its version."""
    return [sys.executable, sys.version, os.path.dirname(os.path.abspath(__file__)), __version__]


def start_variables(env: "dict[str, str] | os._Environ[str]") -> dict[str, str]:
    """The variables that have taken effect before a command runs."""
    return PRESET | {name: env[name] for name in env if name.startswith(STARTS_OTHERWISE) and name not in HARMLESS}


def peer_of(connection: socket.socket) -> int:
    """The user at the other end, as the kernel knows it."""
    size = struct.calcsize("3i")
    _pid, user, _group = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    return int(user)


def address_in(folder: int) -> str:
    """The socket's path by a descriptor of its folder: an address has 107 bytes (unix(7)), a path may have more."""
    return f"/proc/self/fd/{folder}/{SOCKET}"


# --- the process that was typed -----------------------------------------------------------------------------------


def hand_over(words: list[str]) -> int | None:
    """Exit status of a command that the running server's process has carried out; None: it is to be done here."""
    if command_of(words) not in COMMANDS or not hasattr(signal, "pidfd_send_signal"):
        return None
    if os.environ.get("ARCHIVEBOX_FORK") == "0" or any(map(_is_of_this_process, words)):
        return None
    connection = _connect(_run_folder(data_dir_of(words)))
    if connection is None:
        return None
    with connection:
        return Caller(connection).carry_out(words)


def command_of(words: list[str]) -> str:
    """The first word that is no global option; empty where there is none."""
    rest = list(words)
    while rest and rest[0].startswith("--"):
        rest = rest[2:] if rest[0] == DATA_DIR else rest[1:]
    return rest[0] if rest else ""


def data_dir_of(words: list[str]) -> str | None:
    """What ``--data-dir`` says, which may stand before and behind the command's name; the last one wins."""
    found = None
    for place, word in enumerate(words):
        name, is_one_word, value = word.partition("=")
        if name == DATA_DIR:
            found = value if is_one_word else "".join(words[place + 1 : place + 2])
    return found


def _is_of_this_process(word: str) -> bool:
    """Whether it names what is something else in another process."""
    value = word.partition("=")[2] if word.startswith("--") else word
    return value.startswith(OF_THIS_PROCESS)


def _run_folder(chosen: str | None) -> str:
    """``run/`` of the collection that is probably meant; who takes the command looks for itself."""
    if folder := chosen or os.environ.get("DATA_DIR"):
        return os.path.join(os.path.expanduser(folder), RUN)
    is_here = os.path.exists("index.sqlite3") or os.path.isdir(RUN)
    return RUN if is_here else os.path.join("data", RUN)


def _connect(run: str) -> socket.socket | None:
    """A connection to the process that takes commands; None where there is none, or it is somebody else's."""
    try:
        folder = os.open(run, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        connection.settimeout(BEGIN_TIME)
        connection.connect(address_in(folder))
        if peer_of(connection) == os.geteuid():
            return connection
    except OSError:
        pass  # nobody takes commands
    finally:
        os.close(folder)
    connection.close()
    return None


class Caller:
    """The command that was typed, while another process carries it out: passes on signals, and exits as that does."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._process: int | None = None
        self._signals: list[int] = []
        self._before: dict[int, Any] = {}

    def carry_out(self, words: list[str]) -> int | None:
        """The exit status; None where it has to be done here."""
        self._listen()
        try:
            if not self._begin(words):
                return self._stopped()
            accepted, code = self._follow()
        finally:
            self._listen_no_more()
        if code is not None:
            return code
        if self._signals:
            return self._stopped()
        if accepted:
            return _go_on(words, accepted)
        sys.stderr.write(f"{LOST}\n")
        return 1

    def _begin(self, words: list[str]) -> bool:
        """Whether the other process has begun."""
        ignored = [int(number) for number in FORWARDED if signal.getsignal(number) is signal.SIG_IGN]
        request = CommandRequest(sys.argv[:1] + words, sys.orig_argv, dict(os.environ), _umask(), ignored, program())
        data = json.dumps(request).encode()
        if len(data) > LONGEST:
            return False
        try:
            here = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                socket.send_fds(self._connection, [data], [0, 1, 2, here])
            finally:
                os.close(here)
            answer, descriptors, _, _ = socket.recv_fds(self._connection, LONGEST, 1)
            if not descriptors:
                return False
            self._process = descriptors[0]
            if "begun" not in json.loads(answer):
                return False
            if self._signals:
                return False
            self._connection.sendall(GO)
        except OSError:  # also: it takes too long, or a standard stream is closed
            return False
        return True

    def _follow(self) -> tuple[dict[str, Any], int | None]:
        """Wait for the end: what was accepted, and the exit status; None where the other process was killed."""
        self._connection.settimeout(None)
        accepted: dict[str, Any] = {}
        while data := self._receive():
            message = json.loads(data)
            if "exit" in message:
                return accepted, int(message["exit"])
            accepted = message
        return accepted, None

    def _receive(self) -> bytes:
        try:
            return self._connection.recv(LONGEST)
        except ConnectionError:
            return b""

    def _stopped(self) -> int | None:
        return 128 + self._signals[-1] if self._signals else None

    def _listen(self) -> None:
        for number in FORWARDED:
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._forward)
        self._before[signal.SIGTSTP] = signal.signal(signal.SIGTSTP, self._pause)

    def _listen_no_more(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _forward(self, number: int, _frame: FrameType | None) -> None:
        self._signals.append(number)
        self._signal(number)

    def _pause(self, number: int, _frame: FrameType | None) -> None:
        """Ctrl-Z: both stop, and both go on."""
        self._signal(number)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        signal.signal(number, self._pause)
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        if self._process is not None:
            try:
                signal.pidfd_send_signal(self._process, number)
            except ProcessLookupError:
                self._process = None  # it has just ended


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _go_on(words: list[str], accepted: dict[str, Any]) -> int:
    """Wait here for what the other process had accepted when its server ended; it may need an orchestrator of ours."""
    from archivebox.cli.session import Globals, Needs, carry_out  # what is handed over need not import it

    given = Globals(data_dir_of(words), json="--json" in words)
    return carry_out("archivebox.cli.add:go_on", Needs.COLLECTION, given, accepted)


# --- the process that carries it out ------------------------------------------------------------------------------


class CallerConnection:
    """What the process that carries a command out tells whoever typed it; nothing where nobody else typed it."""

    def __init__(self) -> None:
        self._connection: socket.socket | None = None
        self._is_accepted = False
        self._is_asked_back = False

    def expect_to_be_asked_back(self) -> None:
        """Be ready to be told that the server ends."""
        signal.signal(signal.SIGUSR1, self._return_command)

    def connect(self, connection: socket.socket) -> None:
        """Tell this caller from now on, whose own end is a SIGTERM to us: the kernel says that there is something."""
        self._connection = connection
        signal.signal(signal.SIGUSR2, self._watch_caller)
        fcntl.fcntl(connection, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(connection, fcntl.F_SETSIG, signal.SIGUSR2)
        fcntl.fcntl(connection, fcntl.F_SETFL, fcntl.fcntl(connection, fcntl.F_GETFL) | os.O_ASYNC)
        self._watch_caller()

    def _watch_caller(self, *_: object) -> None:
        """It says nothing any more but by its end."""
        try:
            is_gone = self._connection is not None and not self._connection.recv(1, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except OSError:
            is_gone = True
        if is_gone:
            self._connection = None
            os.kill(os.getpid(), signal.SIGTERM)

    def tell_accepted(self, **facts: object) -> None:
        """What is waited for from now on: where the server ends, the caller goes on with that."""
        if self._connection is not None:
            self._tell(facts)
            self._is_accepted = True
            if self._is_asked_back:
                self._leave()

    def tell_exit(self, code: int) -> None:
        self._is_accepted = False
        self._tell({"exit": code})

    def _tell(self, message: dict[str, Any]) -> None:
        if self._connection is not None:
            try:
                self._connection.sendall(json.dumps(message).encode())
            except OSError:
                self._connection = None  # it was killed

    def _return_command(self, _number: int, _frame: FrameType | None) -> None:
        """The server ends: the caller goes on, once it knows with what."""
        self._is_asked_back = True
        if self._is_accepted:
            self._leave()

    def _leave(self) -> None:
        """At once, in whatever it is: its row is closed as that of any command that was killed."""
        os._exit(0)


CALLER = CallerConnection()
