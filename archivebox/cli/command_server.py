"""Carries out commands for who types them next to a running server: one warm process, which forks for each.

It is forked from the orchestrator, which has Django and the models loaded. A command is a child with the streams, the
folder, the environment and the signals of the process that was typed (:mod:`archivebox.cli.handover`).
"""

import contextlib
import io
import json
import logging
import os
import selectors
import shutil
import signal
import socket
import sys
import time
import traceback
from functools import partial
from types import FrameType
from typing import NoReturn
from uuid import UUID

from django.db import connections

from archivebox.base_models.work import RENEW_EVERY
from archivebox.cli import add as _add  # noqa: F401 - what commands import is warm
from archivebox.cli import administrator, handover
from archivebox.cli.handover import CALLER, CommandRequest
from archivebox.cli.main import main as run_command
from archivebox.config.collection import CollectionError, choose_data_dir
from archivebox.config.conffile import ConfError
from archivebox.config.database import connection_settings
from archivebox.config.resolve import SettingError
from archivebox.config.settings import DATA_FOLDER
from archivebox.hooks import forget_environment, plugins
from archivebox.lib import processes
from archivebox.machine.host import forget_current_machine
from archivebox.machine.process import Process
from archivebox.machine.process_current import forget_current_process, set_command_line
from archivebox.workers.signals import WorkerSignal, say_alive

log = logging.getLogger(__name__)

GO_TIME = 10.0
"""Seconds for the caller to say that it still waits."""
RECEIVE_TIME = 1.0
"""Seconds for the one message of a caller that has connected."""
MOST_WAITING = 64
"""Callers that wait to be taken."""
CHOOSES_PLUGINS = ("--plugins", "--config", "--persona")
"""Options that may want other programs than those that the collection's settings want."""


class CommandServer:
    """Takes commands until told to stop, or until the orchestrator has gone; ``pulse``: the socket to that."""

    def __init__(self, pulse: socket.socket) -> None:
        self._pulse = pulse
        self._stopping = False
        self._children: set[int] = set()
        self._selector = selectors.DefaultSelector()
        self._wake, wake_writer = socket.socketpair()
        self._wake.setblocking(False)
        wake_writer.setblocking(False)
        self._wake_writer = wake_writer
        self._database = connection_settings(DATA_FOLDER)
        self._variables = handover.start_variables(os.environ)
        self._listener = listen()

    def run(self) -> None:
        signal.set_wakeup_fd(self._wake_writer.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGINT, self._stop)
        self._selector.register(self._wake, selectors.EVENT_READ, self._drain)
        self._selector.register(self._pulse, selectors.EVENT_READ, self._orchestrator_spoke)
        self._selector.register(self._listener, selectors.EVENT_READ, self._accept_connection)
        beat_at = 0.0
        while not self._stopping:
            if time.monotonic() >= beat_at:
                beat_at = time.monotonic() + RENEW_EVERY
                self._beat()
            for key, _ in self._selector.select(RENEW_EVERY):
                key.data()
            self._reap()
        self._end()

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        self._stopping = True

    def _drain(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while self._wake.recv(512):
                pass

    def _beat(self) -> None:
        """A sign of life to the orchestrator."""
        with contextlib.suppress(BlockingIOError, BrokenPipeError):
            self._pulse.send(WorkerSignal.HEARTBEAT)

    def _orchestrator_spoke(self) -> None:
        """It says nothing but by its death."""
        try:
            self._stopping |= not self._pulse.recv(64)
        except ConnectionResetError:
            self._stopping = True

    def _reap(self) -> None:
        for pid in list(self._children):
            if os.waitpid(pid, os.WNOHANG)[0]:
                self._children.discard(pid)

    def _end(self) -> None:
        """Give the commands back to who typed them: whoever ends us ends everything below a moment later."""
        DATA_FOLDER.commands_socket.unlink(missing_ok=True)
        self._listener.close()
        for pid in self._children:
            os.kill(pid, signal.SIGUSR1)

    # --- one command ------------------------------------------------------------------------------------------

    def _accept_connection(self) -> None:
        connection, _ = self._listener.accept()
        with connection:
            try:
                if handover.peer_of(connection) != os.geteuid():
                    return
                connection.settimeout(RECEIVE_TIME)
                data, descriptors, _, _ = socket.recv_fds(connection, 2 * handover.LONGEST, 4)
                try:
                    if len(descriptors) == 4:
                        self._fork(connection, CommandRequest(*json.loads(data)), descriptors)
                finally:
                    for descriptor in descriptors:
                        os.close(descriptor)
            except (OSError, ValueError, TypeError) as error:
                log.warning("A command could not be taken: %s action=command_refused", error)

    def _fork(self, connection: socket.socket, request: CommandRequest, descriptors: list[int]) -> None:
        pid = os.fork()
        if pid:
            self._children.add(pid)
            return
        code = 1
        try:
            self._become(descriptors)
            code = self._carry_out(connection, request)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        except Exception:  # noqa: BLE001 - the last line of defence: the caller's stderr has it
            traceback.print_exc()
        finally:
            _leave(code)

    def _become(self, descriptors: list[int]) -> None:
        """In the child: let go of what is the server's, and take the streams and the folder that came along."""
        signal.set_wakeup_fd(-1)
        for ours in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
            signal.signal(ours, signal.SIG_DFL)
        CALLER.expect_to_be_asked_back()
        os.setsid()
        self._selector.close()
        for each in (self._listener, self._pulse, self._wake, self._wake_writer):
            each.close()
        os.fchdir(descriptors[3])
        for number, descriptor in enumerate(descriptors[:3]):
            os.dup2(descriptor, number)
        sys.stdin, sys.stdout, sys.stderr = open_streams()

    def _carry_out(self, connection: socket.socket, request: CommandRequest) -> int:
        os.umask(request.umask)
        os.environ.clear()
        os.environ.update(request.env)
        time.tzset()
        sys.argv[:] = request.argv
        set_command_line(request.typed)
        processes.set_title(f"archivebox {request.argv[1]}")
        forget_current_process()
        forget_current_machine()
        forget_environment()
        if not (self._may_stand_in_for(request) and begins(connection)):
            return 0
        for ignored in request.ignored:
            signal.signal(ignored, signal.SIG_IGN)
        CALLER.connect(connection)
        return run_command()

    def _may_stand_in_for(self, request: CommandRequest) -> bool:
        """Whether the command would do here what it does where it was typed."""
        try:
            return (
                request.program == handover.program()
                and handover.start_variables(request.env) == self._variables
                and choose_data_dir(handover.data_dir_of(request.argv[1:])) == DATA_FOLDER.root
                and connection_settings(DATA_FOLDER) == self._database
                and not may_need_terminal(request.argv)
            )
        except (ConfError, SettingError, CollectionError):
            return False  # the command says so where it was typed


def may_need_terminal(words: list[str]) -> bool:
    """Whether somebody may have to be asked for a password: sudo asks at the terminal of its own session alone."""
    if os.geteuid() == 0 or not (sys.stdin.isatty() and sys.stderr.isatty()) or not shutil.which("sudo"):
        return False
    return any(word.startswith(CHOOSES_PLUGINS) for word in words) or administrator.may_have_to_ask()


def begins(connection: socket.socket) -> bool:
    """Tell the caller who we are; whether it still waits."""
    this = os.pidfd_open(os.getpid())
    try:
        connection.settimeout(GO_TIME)
        socket.send_fds(connection, [b'{"begun": true}'], [this])
        if connection.recv(len(handover.GO)) != handover.GO:
            return False
    except OSError:
        return False
    finally:
        os.close(this)
    connection.setblocking(True)
    return True


def open_streams() -> tuple[io.TextIOWrapper, io.TextIOWrapper, io.TextIOWrapper]:
    """Text on the standard streams, as Python opens it at its start."""
    stdin = open(0, encoding=sys.stdin.encoding, closefd=False)  # noqa: SIM115 - descriptors, for good
    stdout = open(1, "w", encoding=sys.stdout.encoding, errors=sys.stdout.errors, closefd=False)  # noqa: SIM115
    stderr = open(2, "w", encoding=sys.stderr.encoding, errors="backslashreplace", closefd=False)  # noqa: SIM115
    stdout.reconfigure(line_buffering=stdout.isatty())
    stderr.reconfigure(line_buffering=True)
    return stdin, stdout, stderr


def flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()


def _leave(code: int) -> NoReturn:
    flush()
    CALLER.tell_exit(code)
    logging.shutdown()
    os._exit(code)


def listen() -> socket.socket:
    """The socket on which commands come, in place of that of one that was killed; for this user alone."""
    folder = os.open(DATA_FOLDER.run, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    mask = os.umask(0o177)
    try:
        DATA_FOLDER.commands_socket.unlink(missing_ok=True)
        listener.bind(handover.address_in(folder))
        listener.listen(MOST_WAITING)
    finally:
        os.umask(mask)
        os.close(folder)
    return listener


def main(process_id: UUID, orchestrator_id: UUID, pulse: socket.socket) -> int:
    """Take commands until told to stop; returns the exit status."""
    processes.set_title("archivebox commands")
    return Process.run_service(
        process_id, orchestrator_id, "commands", lambda: _serve(pulse), while_away=partial(say_alive, pulse.fileno())
    )


def _serve(pulse: socket.socket) -> None:
    plugins()
    connections.close_all()  # none may be carried over a fork
    CommandServer(pulse).run()
