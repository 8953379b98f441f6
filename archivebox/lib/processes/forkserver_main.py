"""The fork server: a warm, single-threaded Python that turns into a hook by forking.

Started by absolute path with ``python -I``; standard library only, no database, no secrets. It never reaps before it is
told that the row is committed, ends with its worker, and leaves its hooks running: they go to the next subreaper.
"""

# ruff: noqa: PTH100, PTH116, PTH118, PTH120, PTH123
# A module that is imported here is in every hook: pathlib is left to those that want it.

import atexit
import builtins
import contextlib
import ctypes
import gc
import importlib
import io
import json
import os
import resource
import select
import signal
import socket
import sys
import threading
import time
from importlib.machinery import SourceFileLoader
from types import CodeType, ModuleType
from typing import NamedTuple, NoReturn

MARK = b"ARCHIVEBOX_PROCESS_ID="
MARK_LENGTH = 36
MESSAGE_SIZE = 1 << 18
BEFORE_FIRST = 0.1  # seconds for the first request to come; what is imported later would hold it up
LATER_AFTER = 0.1  # seconds without a request, from the first one on: a browser that starts has the processors then
UNCHANGED_FOR = 2.0  # seconds after which the bytecode of a script is kept: it tells changes of the file by the second
NOT_STARTED = 125  # exit code of a child whose worker died before it said go: it ran nothing


def beside(name: str) -> ModuleType:
    """The module in the file next to this one, without the package around it."""
    module = ModuleType(name)
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), f"{name}.py")
    SourceFileLoader(name, path).exec_module(module)
    return module


linux = beside("linux")


class ForkRequest(NamedTuple):
    """What a forked child is to become; ``fds``: stdout, stderr, folder, go, then those to pass on."""

    request: dict[str, object]
    code: CodeType | None
    fds: list[int]


class ProcessMemory(NamedTuple):
    """Where in its own memory the kernel reads a process's command line and mark (proc_pid_stat(5), 48 to 51)."""

    title: int
    title_size: int
    mark: int


def stat_fields() -> list[bytes]:
    """Fields of /proc/self/stat from the third (state) on."""
    with open("/proc/self/stat", "rb") as file:
        data = file.read()
    return data[data.rfind(b")") + 2 :].split()


def find_memory() -> ProcessMemory:
    """Find the mark in the environment that this process was started with; ValueError: it has none."""
    arg_start, arg_end, env_start, env_end = map(int, stat_fields()[45:49])
    block = b"\0" + ctypes.string_at(env_start, env_end - env_start)
    return ProcessMemory(arg_start, arg_end - arg_start, env_start + block.index(b"\0" + MARK) + len(MARK))


def start_ticks(pid: int) -> int:
    with open(f"/proc/{pid}/stat", "rb") as file:
        data = file.read()
    return int(data[data.rfind(b")") + 2 :].split()[19])


class Server:
    """One client, any number of children; ``serve`` returns in a child only."""

    def __init__(self, channel: socket.socket, spawn_log: int | None, memory: ProcessMemory, later: list[str]) -> None:
        self.channel = channel
        self.spawn_log = spawn_log
        self.memory = memory
        self.later = later  # modules that are imported once nobody asks for anything
        self.poll = select.epoll()
        self.poll.register(channel.fileno(), select.EPOLLIN)
        self.children: dict[int, int] = {}  # pidfd -> pid
        self.codes: dict[str, tuple[tuple[int, int], CodeType]] = {}

    def serve(self) -> ForkRequest:
        patience = BEFORE_FIRST
        while True:
            ready = self.poll.poll(patience if self.later else None)
            for fd, _ in ready:
                if fd in self.children:
                    self.report(fd)
                elif (job := self.receive_request()) is not None:
                    return job
            patience = LATER_AFTER if ready else 0
            if not ready:
                preload([self.later.pop(0)])
                freeze_gc()

    def receive_request(self) -> ForkRequest | None:
        """Take one message: a request to run, or leave to reap."""
        flags = socket.MSG_CMSG_CLOEXEC
        data, fds, _, _ = socket.recv_fds(self.channel, MESSAGE_SIZE, 256, flags)
        if not data:  # the worker is gone; children live on
            os._exit(0)
        message = json.loads(data)
        if "reap" in message:
            os.waitpid(message["reap"], 0)
            return None
        return self.fork(message, fds)

    def fork(self, request: dict[str, object], fds: list[int]) -> ForkRequest | None:
        code = self.compiled(str(request["script"]))
        try:
            pid = os.fork()
        except OSError as error:
            self.send({"refused": str(error)})
            pid = -1
        if pid == 0:
            return ForkRequest(request, code, fds)
        for fd in fds:
            os.close(fd)
        if pid > 0:
            pidfd = os.pidfd_open(pid)
            self.children[pidfd] = pid
            self.send({"started": pid, "ticks": start_ticks(pid)})
            self.poll.register(pidfd, select.EPOLLIN)
        return None

    def report(self, pidfd: int) -> None:
        """Send how a child ended; it stays a zombie until the client has its row committed."""
        status = linux.waitid(linux.P_PID, self.children[pidfd], reap=False)
        if status is None:  # who traces it has not let go of it yet; we are told again
            return
        self.poll.unregister(pidfd)
        os.close(pidfd)
        self.send({"ended": self.children.pop(pidfd), "status": status})

    def send(self, message: dict[str, object]) -> None:
        try:
            self.channel.send(json.dumps(message).encode())
        except (BrokenPipeError, ConnectionResetError):
            os._exit(0)

    def compiled(self, script: str) -> CodeType | None:
        """Code of the script, cached by (path, mtime, size); None: the child shall find out what is wrong with it."""
        try:
            stat = os.stat(script)
            stamp = (stat.st_mtime_ns, stat.st_size)
            known = self.codes.get(script)
            if known is None or known[0] != stamp:
                known = self.codes[script] = (stamp, code_of(script, stat.st_mtime))
        except (OSError, SyntaxError, ValueError):
            return None
        return known[1]


def code_of(script: str, changed_at: float) -> CodeType:
    """Code of the script from its file in ``__pycache__``, as of a module; a large one takes 7 ms to compile."""
    if time.time() - changed_at > UNCHANGED_FOR:
        code = SourceFileLoader("__main__", script).get_code("__main__")
        if code is not None:
            return code
    return compile_script(script)


def compile_script(script: str) -> CodeType:
    with io.open_code(script) as file:
        return compile(file.read(), script, "exec", dont_inherit=True)


def become(server: Server, job: ForkRequest) -> ModuleType:
    """Turn this freshly forked child into the hook: everything short of its code. Returns its ``__main__``."""
    request, fds = job.request, job.fds
    server.channel.close()  # at once: held open here, a dead server would never be an end of file to the worker
    server.poll.close()
    argv = [str(word) for word in list_of(request["argv"])]
    write_memory(server.memory, str(request["process_id"]), list_of(request["title"]))
    os.setsid()
    os.dup2(fds[0], 1)
    os.dup2(fds[1], 2)
    os.fchdir(fds[2])
    set_environment(dict_of(request["env"]))
    if request["limit"] is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(str(request["limit"])),) * 2)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    if os.read(fds[3], 1) != b"g":
        os._exit(NOT_STARTED)
    if server.spawn_log is not None:
        line = str(request["started"]) % (os.getpid(), start_ticks(os.getpid()))
        with contextlib.suppress(OSError):  # no room: its mark says who it is
            os.write(server.spawn_log, line.encode())
    keep_only(fds[4:], [int(str(fd)) for fd in list_of(request["pass_fds"])])
    fresh_output()
    sys.argv[:] = argv
    sys.path.insert(0, os.path.dirname(os.path.realpath(argv[0])))
    return fresh_main(argv[0])


def list_of(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def dict_of(value: object) -> dict[str, str]:
    return value if isinstance(value, dict) else {}


def write_memory(memory: ProcessMemory, process_id: str, title: list[object]) -> None:
    """Write mark and command line where the kernel reads them; what os.environ says is never read.

    A command line whose very last byte is not NUL is one string up to its first NUL (fs/proc/base.c, get_mm_cmdline).
    """
    ctypes.memmove(memory.mark, process_id.encode().ljust(MARK_LENGTH, b"\0"), MARK_LENGTH)
    room = memory.title_size - 2
    text = " ".join(map(str, title)).encode("utf-8", "surrogateescape")[:room]
    ctypes.memmove(memory.title, text.ljust(room + 1, b"\0") + b".", memory.title_size)


def set_environment(env: dict[str, str]) -> None:
    zone = os.environ.get("TZ")
    os.environ.clear()
    os.environ.update(env)
    if env.get("TZ") != zone:
        time.tzset()
    if env.get("PYTHONDONTWRITEBYTECODE"):
        sys.dont_write_bytecode = True


def keep_only(given: list[int], wanted: list[int]) -> None:
    """Give passed descriptors the numbers they have in the worker; close everything else but the standard three."""
    above = max([*given, *wanted, 2]) + 1
    moved = [resettled(fd, above) for fd in given]
    for fd, number in zip(moved, wanted, strict=True):
        os.dup2(fd, number, inheritable=True)
    start = 3
    for number in sorted(wanted):
        os.closerange(start, number)
        start = max(start, number + 1)
    os.closerange(start, 1 << 16)


def resettled(fd: int, above: int) -> int:
    return linux.fcntl.fcntl(fd, linux.fcntl.F_DUPFD_CLOEXEC, above)  # type: ignore[no-any-return]


def fresh_output() -> None:
    """Standard streams for the new files; buffered like those of a cold start (stderr by line)."""
    through = bool(os.environ.get("PYTHONUNBUFFERED"))
    for fd, name in ((1, "stdout"), (2, "stderr")):
        old = getattr(sys, name)
        raw = io.FileIO(fd, "w", closefd=False)
        raw.name = f"<{name}>"
        buffer = raw if through else io.BufferedWriter(raw)
        stream = io.TextIOWrapper(
            buffer,
            encoding=old.encoding,
            errors=old.errors,
            newline="\n",
            line_buffering=fd == 2,
            write_through=through,
        )
        stream.mode = "w"  # type: ignore[misc]
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def fresh_main(script: str) -> ModuleType:
    """An empty ``__main__`` as a cold start of ``script`` makes it."""
    module = ModuleType("__main__")
    module.__dict__.update(
        __annotations__={},
        __builtins__=builtins,
        __cached__=None,
        __file__=os.path.abspath(script),
        __loader__=SourceFileLoader("__main__", script),
    )
    sys.modules["__main__"] = module
    return module


def run(script: str, code: CodeType | None, module: ModuleType) -> None:
    """Run the hook as ``__main__``, and end as any Python does: see :func:`leave`.

    The traceback is printed here, to keep this file's frames out of it. KeyboardInterrupt leaves through the
    interpreter's own way out, which dies of SIGINT.
    """
    try:
        exec(code or compile_script(script), module.__dict__)  # noqa: S102  running scripts is what it is for
    except SystemExit as request:
        leave(module, exit_code(request.code))
    except BaseException as error:
        frames = error.__traceback__
        while frames is not None and frames.tb_frame.f_code.co_filename == __file__:
            frames = frames.tb_next
        sys.excepthook(type(error), error.with_traceback(frames), frames)
        if not isinstance(error, KeyboardInterrupt):
            error.__traceback__ = frames = None
            leave(module, 1)
        sys.excepthook = quiet
        raise
    leave(module, 0)


def exit_code(code: object) -> int:
    """What ``sys.exit(code)`` comes to; a text goes to stderr."""
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    sys.stderr.write(f"{code}\n")
    return 1


def leave(module: ModuleType, code: int) -> NoReturn:
    """What the interpreter does at its end, in its order, but for taking the warm modules apart: that costs 8 ms.

    Threads are waited for, atexit functions run, what the script holds is let go (which closes its files), the streams
    are flushed (code 120 where that fails, as in pylifecycle.c).
    """
    threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001  what Py_FinalizeEx calls first
    atexit._run_exitfuncs()  # noqa: SLF001  and second
    module.__dict__.clear()
    gc.collect()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            code = code or 120
    os._exit(code)


def quiet(*_: object) -> None:
    """An excepthook for what has been printed already."""


def can_open(script: str) -> None:
    """Leave with a cold start's words and code when the script cannot be read."""
    try:
        io.open_code(script).close()
    except OSError as error:
        sys.stderr.write(f"{sys.executable}: can't open file {script!r}: [Errno {error.errno}] {error.strerror}\n")
        sys.exit(2)


def preload(names: list[str]) -> None:
    """Import ``names``, so that every fork has them in memory."""
    for name in names:
        try:
            importlib.import_module(name)
        except Exception as error:  # noqa: BLE001  a module's import may raise anything; hooks then import it themselves
            sys.stderr.write(f"preload {name}: {type(error).__name__}: {error}\n")


def freeze_gc() -> None:
    """Have what is loaded stay as it is: a collection in a child would write to every page of it."""
    gc.collect()
    gc.freeze()


def start(arguments: dict[str, object]) -> Server:
    """Die with the worker, warm up, say so."""
    linux.set_parent_death_signal(signal.SIGKILL)
    if os.getppid() != arguments["parent"]:  # it died before we asked to be told
        os._exit(0)
    sys.path[:0] = [str(path) for path in list_of(arguments["sys_path"])]
    preload([str(name) for name in list_of(arguments["preload"])])
    log = arguments["spawn_log"]
    channel = socket.socket(fileno=int(str(arguments["channel"])))
    later = [str(name) for name in list_of(arguments["later"])]
    server = Server(channel, int(str(log)) if log is not None else None, find_memory(), later)
    freeze_gc()
    server.send({"ready": True})
    return server


if __name__ == "__main__":
    the_server = start(json.loads(sys.argv[1]))
    the_job = the_server.serve()
    the_main = become(the_server, the_job)
    the_script = sys.argv[0]
    if the_job.code is None:
        can_open(the_script)
    run(the_script, the_job.code, the_main)
