"""Starts what the crawl of a command will want before that command has loaded Django (decision 0142).

The last crawl of a command with the same options has left a recipe (``run/spare.json``). What is started by it waits as
one that a server's worker started ahead: whoever is at the other end of its socket has it, and without anybody there it
ends. The command looks after the process; its orchestrator, and of that the first worker, get the socket by their fork.
"""

import fcntl
import json
import os
import socket
import stat
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, Self

from archivebox import __version__
from archivebox.lib.machine_load import can_spare
from archivebox.lib.processes import PORTABLE, Child, Launch, Tree, spawn, wait

COMMAND = "add"
LOOPBACK = "127.0.0.1"
BACKLOG = 512
SOCKET = "SPARE_SOCKET"
"""The variable that names the descriptor of our socket, to the program itself and to the hook that gets it."""
NOT_WANTED = 3
"""Exit status of one that no crawl with such settings can use."""
MEMORY_MIN = 750 * 1024 * 1024
"""Bytes that have to be available: a browser that waits has 150 MB of them, and a page wants a few hundred more."""
END_TIME = 3.0
"""Seconds for one to end by itself once nobody has it; it takes 0.1."""


class SpareRecipe(NamedTuple):
    """How the last crawl of a command would have had it started ahead."""

    program: list[str]
    """Interpreter, code and version that wrote it."""
    options: list[str]
    """Of the command, without the URLs."""
    hook: str
    """The path of the hook that may take it."""
    argv: list[str]
    folder: str
    env: dict[str, str]
    modules: str
    """Where it finds our modules."""
    proxied: dict[str, str]
    """Variables that name its proxy, with ``{place}`` for host and port and ``{process}`` for its id."""
    file_size_limit: int

    @property
    def unwanted(self) -> Self:
        """What says that crawls with these settings cannot use one."""
        return self._replace(argv=[])

    def leave(self, path: Path) -> None:
        """Write it for the next command, unless it is there already, or known to be of no use."""
        if self.read(path) not in (self, self.unwanted):
            self.write(path)

    def write(self, path: Path) -> None:
        """Its owner alone may read the settings in it."""
        text = json.dumps(self._asdict())
        draft = path.with_name(f"{path.name}.{os.getpid()}.tmp")
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "w") as file:  # noqa: PTH123
            file.write(text)
        draft.replace(path)

    @classmethod
    def read(cls, path: Path) -> Self | None:
        """The one that lies there; None where there is none of this user's, or it cannot be read."""
        try:
            with path.open() as file:
                status = os.fstat(file.fileno())
                if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o077:
                    return None
                return cls(**json.load(file))
        except (OSError, ValueError, TypeError):
            return None


class EarlySpare:
    """A process that was started by a recipe, the socket to it, and the port that its crawl gets."""

    def __init__(self, recipe: SpareRecipe, data_dir: Path, process_id: str) -> None:
        self.recipe = recipe
        self.process_id = process_id
        self._data_dir = data_dir
        self.stdout, self.stderr = self._log("stdout"), self._log("stderr")
        self.port: socket.socket | None = socket.create_server((LOOPBACK, 0), backlog=BACKLOG, reuse_port=True)
        self.control: socket.socket | None
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with theirs:
                self.child: Child = spawn(self._launch(theirs.fileno()))
                self.started_at = datetime.now(UTC)
        except OSError:
            self.release()
            raise

    def _log(self, stream: str) -> Path:
        return self._data_dir / "logs" / f"spare.{self.process_id}.{stream}.log"

    def _launch(self, descriptor: int) -> Launch:
        folder = Path(self.recipe.folder)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        place = self.port.getsockname() if self.port else ()
        values = {"place": ":".join(map(str, place)), "process": self.process_id}
        proxied = {name: value.format_map(values) for name, value in self.recipe.proxied.items()}
        return Launch(
            process_id=self.process_id,
            argv=tuple(self.recipe.argv),
            cwd=folder,
            env={**self.recipe.env, **proxied, "PYTHONPATH": self.recipe.modules, SOCKET: str(descriptor)},
            stdout=self.stdout,
            stderr=self.stderr,
            file_size_limit=self.recipe.file_size_limit,
            pass_fds=(descriptor,),
        )

    @property
    def is_held(self) -> bool:
        """Whether this process has what leads to it."""
        return self.control is not None

    def detach_control(self) -> socket.socket:
        """The end of the socket that leads to it, for who has it from now on."""
        control, self.control = self.control, None
        assert control is not None  # noqa: S101 - it is given away once
        return control

    def detach_port(self) -> socket.socket:
        """The port of its crawl, likewise."""
        port, self.port = self.port, None
        assert port is not None  # noqa: S101
        return port

    def release(self) -> None:
        """Close what leads to it in this process: it ends once no other process has it."""
        for end in (self.control, self.port):
            if end is not None:
                end.close()
        self.control = self.port = None

    def end(self) -> None:
        """Let go of it and wait until it has ended; what takes long is killed, with all that it started."""
        self.release()
        try:
            wait(self.child, END_TIME)
        except TimeoutError:
            Tree(root=self.child.identity, process_id=self.process_id, data_dir=self._data_dir).end_blocking(grace=0.0)
            wait(self.child, END_TIME)

    def forget_output(self) -> None:
        """Delete what it printed: its records are in the database, or nobody had it."""
        for path in (self.stdout, self.stderr):
            path.unlink(missing_ok=True)


_started: EarlySpare | None = None


def start(argv: Sequence[str]) -> None:
    """Start one for the command that was typed, if the last one like it had a use for it."""
    global _started  # noqa: PLW0603 - of the one command that this process carries out
    if PORTABLE or list(argv[:1]) != [COMMAND] or not any(map(_is_web_page, argv)):
        return
    data_dir = _data_dir(os.environ)
    recipe = SpareRecipe.read(recipe_path(data_dir))
    if recipe is None or not recipe.argv or recipe.program != program() or recipe.options != options_of(argv):
        return
    if _is_locked(data_dir / "run" / "orchestrator.lock") or not can_spare(MEMORY_MIN):
        return
    import uuid_utils.compat  # 2 ms that other commands need not pay twice

    try:
        _started = EarlySpare(recipe, data_dir, str(uuid_utils.compat.uuid7()))
    except OSError:  # the crawl starts its own, and says what is wrong
        return


def claim() -> EarlySpare | None:
    """The one that this command has started, for who looks after it from now on."""
    global _started
    taken, _started = _started, None
    return taken


def discard() -> None:
    """End the one that nobody has taken."""
    if (unused := claim()) is not None:
        unused.end()
        unused.child.reap()
        unused.forget_output()


def program() -> list[str]:
    """What has to be the same for a recipe to be followed."""
    return [sys.executable, sys.version, os.path.dirname(os.path.abspath(__file__)), __version__]  # noqa: PTH100, PTH120


def options_of(argv: Sequence[str]) -> list[str]:
    """What was typed after the command, without URLs: by it a crawl gets its settings."""
    return [word for word in argv[1:] if "://" not in word]


def recipe_path(data_dir: Path) -> Path:
    return data_dir / "run" / "spare.json"


def template(env: Mapping[str, str], proxied: Mapping[str, str], place: str, user: str) -> dict[str, str]:
    """The variables that differ where there is a proxy at ``place``, whose ``user`` is the process that asks it."""
    differ = {name: value for name, value in proxied.items() if env.get(name) != value}
    return {
        name: value.replace(f"//{user}:", "//{process}:").replace(place, "{place}") for name, value in differ.items()
    }


def _data_dir(env: Mapping[str, str]) -> Path:
    """Where the collection is, as far as it can be told at once; elsewhere there is no recipe."""
    here = Path.cwd()
    chosen = env.get("DATA_DIR") or (here if (here / "run").is_dir() else here / "data")
    return Path(chosen).expanduser().resolve()


def _is_web_page(word: str) -> bool:
    return word.startswith(("http://", "https://"))


def _is_locked(path: Path) -> bool:
    """Whether somebody holds a lock: then an orchestrator is at work, whose workers do not come from us."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
