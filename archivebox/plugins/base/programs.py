"""Programs that a hook runs: started in the hook's session, told of as Process records, ended with their tree."""

from __future__ import annotations

import os
import select
import selectors
import signal
import subprocess
import sys
import time

from archivebox.lib.machine_load import extended
from archivebox.plugins.base.hook import emit, misconfigured

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import BinaryIO

TAIL = 64 * 1024  # bytes of stdout and stderr that are kept: an error is at the end
ENDING = 2.0  # seconds between TERM and KILL of a program whose time is over
KILLED = 1.0  # seconds for processes that were killed to be gone
SEALED = "sealed"  # the end reason of what was ended because it was needed no longer
TIMED_OUT = 124  # what coreutils' timeout(1) returns, so that hooks can tell


class Finished:
    """How a program ended: `returncode` as Popen has it (-N for signal N), the tails of its output, `timed_out`."""

    __slots__ = ("returncode", "stderr", "stdout", "timed_out")

    def __init__(self, returncode: int, stdout: str, stderr: str, timed_out: bool) -> None:
        self.returncode, self.stdout, self.stderr, self.timed_out = returncode, stdout, stderr, timed_out


class Program:
    """A running program and the Process record that tells of it."""

    def __init__(self, cmd: Sequence[str], popen: subprocess.Popen[bytes], cwd: str) -> None:
        self.popen = popen
        self._record: dict[str, object] = {
            "id": new_id(),
            "cmd": list(cmd),
            "pwd": cwd,
            "pid": popen.pid,
            "start_ticks": start_ticks(popen.pid),
            "started_at": _now(),
        }
        self._killed: list[int] = []
        self._reported_end = False
        emit("Process", **self._record)

    @property
    def pid(self) -> int:
        return self.popen.pid

    def end(self, grace: float = ENDING) -> int:
        """TERM to the whole tree, `grace` seconds, KILL to what is left; report and return its status."""
        if not self._killed:
            tree = self._tree()
            if self.popen.poll() is None:
                _signal_all(tree, signal.SIGTERM)
                if not _ends_within(self.popen, grace):
                    tree += descendants(self.popen.pid)
            self._kill(tree)
        code = self.finish()
        left = _group_members(self.popen.pid)  # children of a program that died by itself are nobody's descendants
        _signal_all(left, signal.SIGKILL)
        _wait_until_gone([*self._killed, *left])  # until then they may write where somebody tidies up now
        return code

    def kill(self) -> None:
        """KILL to the whole tree, for what has nothing to save; :meth:`end` waits for it, and reports who ended it."""
        if self.popen.poll() is None and not self._killed:
            self._record["end_reason"] = SEALED
            self._kill(self._tree())

    def _tree(self) -> list[int]:
        return [self.popen.pid, *descendants(self.popen.pid)]

    def _kill(self, tree: list[int]) -> None:
        _signal_all([pid for pid in tree if pid != self.popen.pid or self.popen.poll() is None], signal.SIGKILL)
        self._killed = tree

    def finish(self) -> int:
        """Wait for the end of the program and print its record once more, now with the exit code."""
        code = self.popen.wait()
        if not self._reported_end:
            self._reported_end = True
            emit("Process", **self._record, exit_code=code, ended_at=_now())
        return code


def find_program(name: str) -> str:
    """Return the absolute path of a program given by name or path; without one the hook ends with a sentence."""
    folders = [""] if os.sep in name else os.environ.get("PATH", os.defpath).split(os.pathsep)
    for folder in folders:
        path = os.path.abspath(os.path.join(folder, os.path.expanduser(name)))
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return misconfigured(
        f"The program {name!r} is not installed or not executable. Install it with: archivebox install"
    )


def start_program(
    cmd: Sequence[str],
    *,
    cwd: str | None = None,
    env: Mapping[str, str] | None = None,
    stdin: int | BinaryIO = subprocess.DEVNULL,
    stdout: int | BinaryIO = subprocess.DEVNULL,
    stderr: int | BinaryIO | None = None,
    pass_fds: Sequence[int] = (),
) -> Program:
    """Start `cmd` in this hook's session (so that ending the hook ends it) and in a process group of its own."""
    command = [find_program(cmd[0]), *cmd[1:]]
    popen = subprocess.Popen(
        command,
        cwd=cwd,
        env=env,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        process_group=0,
        pass_fds=pass_fds,
    )
    return Program(command, popen, os.path.abspath(cwd or os.curdir))


def run_program(
    cmd: Sequence[str],
    *,
    timeout: float,
    cwd: str | None = None,
    env: Mapping[str, str] | None = None,
    stdin: str = os.devnull,
    stdout: str | None = None,
) -> Finished:
    """Run a program to its end and return how it ended; after `timeout` seconds its tree is ended (`timed_out`).

    `stdin` names a file that it reads, `stdout` one that takes its output; without that the last 64 KB are kept as
    text. Its standard error also goes to ours, for people; its standard output never does, since a line of it might
    read as a record.
    """
    target = open(stdout, "wb") if stdout else None  # noqa: SIM115  (closed below, where there is one)
    program = None
    try:
        with open(stdin, "rb") as source:
            output = target or subprocess.PIPE
            program = start_program(cmd, cwd=cwd, env=env, stdin=source, stdout=output, stderr=subprocess.PIPE)
        out, err, in_time = _read_until_end(program.popen, timeout)
        code = program.finish() if in_time else program.end()
        return Finished(code if in_time else TIMED_OUT, out, err, not in_time)
    finally:
        if program is not None:
            program.end(0.5)
            for pipe in (program.popen.stdout, program.popen.stderr):
                if pipe is not None:
                    pipe.close()
        if target is not None:
            target.close()


def _read_until_end(popen: subprocess.Popen[bytes], timeout: float) -> tuple[str, str, bool]:
    """Gather the tails of both pipes until the program has ended (True) or its time is over (False)."""
    deadline = time.monotonic() + extended(timeout)
    tails = {pipe.fileno(): bytearray() for pipe in (popen.stdout, popen.stderr) if pipe is not None}
    stderr = popen.stderr.fileno() if popen.stderr else -1
    ended = _exit_descriptor(popen.pid)
    with selectors.DefaultSelector() as selector:
        for descriptor in (*tails, *([ended] if ended is not None else [])):
            selector.register(descriptor, selectors.EVENT_READ)
        open_pipes, running = set(tails), True
        while running and (open_pipes or ended is not None) and time.monotonic() < deadline:
            for key, _ in selector.select(max(0.0, deadline - time.monotonic())):
                if key.fd == ended:
                    running = False  # what it wrote is in the pipes by now; a grandchild may hold them for ever
                elif not _read_tail(key.fd, tails[key.fd], echo=key.fd == stderr):
                    selector.unregister(key.fd)
                    open_pipes.discard(key.fd)
        in_time = not running or _ends_within(popen, max(0.0, deadline - time.monotonic()))
        _drain(open_pipes, tails, stderr)
    if ended is not None:
        os.close(ended)
    texts = {descriptor: tail.decode("utf-8", "replace") for descriptor, tail in tails.items()}
    return texts.get(popen.stdout.fileno() if popen.stdout else -1, ""), texts.get(stderr, ""), in_time


def _ends_within(popen: subprocess.Popen[bytes], seconds: float) -> bool:
    """Wait so long for the end of a program, and be woken by it: Popen.wait looks every 50 ms."""
    descriptor = _exit_descriptor(popen.pid) if popen.poll() is None else None
    if descriptor is not None:
        select.select([descriptor], (), (), seconds)
        os.close(descriptor)
        seconds = 0.0
    try:
        popen.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def _read_tail(descriptor: int, tail: bytearray, *, echo: bool) -> bool:
    chunk = os.read(descriptor, 65536)
    tail += chunk
    del tail[:-TAIL]
    if echo and chunk:
        sys.stderr.buffer.write(chunk)
        sys.stderr.buffer.flush()
    return bool(chunk)


def _drain(pipes: set[int], tails: dict[int, bytearray], stderr: int) -> None:
    """Read what is left in the pipes without waiting for more."""
    for descriptor in pipes:
        os.set_blocking(descriptor, False)
        try:
            while _read_tail(descriptor, tails[descriptor], echo=descriptor == stderr):
                pass
        except BlockingIOError:
            continue


def _exit_descriptor(pid: int) -> int | None:
    """Return a descriptor that becomes readable when `pid` ends, None where the system has none."""
    return os.pidfd_open(pid) if hasattr(os, "pidfd_open") else None


def descendants(pid: int) -> list[int]:
    """Return all processes below `pid`, from /proc/<pid>/task/*/children (proc(5)); nothing where there is no /proc."""
    found: list[int] = []
    queue = [pid]
    while queue:
        parent = queue.pop()
        for child in _children(parent):
            found.append(child)
            queue.append(child)
    return found


def _children(pid: int) -> list[int]:
    children: list[int] = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", "rb") as file:
                children += map(int, file.read().split())
    except (FileNotFoundError, ProcessLookupError, NotADirectoryError):
        return children  # it ended while we looked
    return children


def _group_members(leader: int) -> list[int]:
    """Return the processes of a process group whose leader may have ended; nothing where there is no /proc."""
    try:
        os.killpg(leader, 0)
        return [int(name) for name in os.listdir("/proc") if name.isdecimal() and _group_of(int(name)) == leader]
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return []


def _group_of(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return 0


def _signal_all(pids: Sequence[int], signum: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, signum)
        except ProcessLookupError:
            continue


def _wait_until_gone(pids: Sequence[int]) -> None:
    deadline = time.monotonic() + KILLED
    for pid in pids:
        try:
            descriptor = _exit_descriptor(pid)
        except ProcessLookupError:
            continue
        if descriptor is not None:
            select.select([descriptor], (), (), max(deadline - time.monotonic(), 0.0))
            os.close(descriptor)


def start_ticks(pid: int) -> int | None:
    """Return when `pid` started, in clock ticks since boot (field 22 of /proc/<pid>/stat), None if unknown."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[19])
    except (FileNotFoundError, ProcessLookupError):
        return None


def open_process(pid: int, ticks: int) -> int | None:
    """Return a pidfd of exactly the process that started then (opened first, compared then); None if it is gone."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return None
    if start_ticks(pid) == ticks:
        return descriptor
    os.close(descriptor)
    return None


def new_id() -> str:
    """Return a UUIDv7 (RFC 9562): 48 bits of milliseconds, the rest random."""
    bits = int(time.time() * 1000) << 80 | 7 << 76 | int.from_bytes(os.urandom(10), "big") & ~(0xF << 76)
    bits = bits & ~(0x3 << 62) | 0x2 << 62
    text = f"{bits:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def _now() -> str:
    seconds = time.time()
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{int(seconds % 1 * 1e6):06d}Z"
