"""Owns what happens around every command: its data folder, its row, its signals, and what it answers when it fails."""

import contextlib
import importlib
import logging
import os
import signal
import sys
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Protocol

from archivebox.cli.errors import BadInputError, FailedError, StoppedError, hang_up
from archivebox.cli.output import Output
from archivebox.config import logs
from archivebox.config.collection import (
    CollectionError,
    choose_data_dir,
    is_collection,
    open_collection,
    refuse_others,
    require_collection,
)
from archivebox.config.conffile import ConfError
from archivebox.config.database import is_read_only
from archivebox.config.early import early_settings
from archivebox.config.joining import join
from archivebox.config.resolve import SettingError
from archivebox.config.shared_secrets import SharedSecretError
from archivebox.lib.object_store import ObjectStoreError
from archivebox.lib.startup import paused_gc
from archivebox.lib.system_calls import TooFewFilesError
from archivebox.storage.layout import DataFolder

if TYPE_CHECKING:
    from archivebox.machine.process import Process

logger = logging.getLogger(__name__)

OUR_ERROR, BAD_INPUT, BROKEN_PIPE = 1, 2, 141
REFUSED = 2
"""One of the rows was in no state for what was asked."""
SECRETS_INSTEAD = "Set it with `archivebox config set NAME`, which asks for it."


class Needs(Enum):
    """What a command needs to be there before it runs."""

    NOTHING = "no Django, no data folder, no row"
    MODELS = "Django; it opens the collection itself, or starts a program that records itself"
    ANY = "a collection is opened if there is one"
    READING = "a collection; neither row nor log of it on a disk that can only be read"
    COLLECTION = "a collection"
    PAGES = "a collection, with the settings and tables of its web pages"
    NEW = "a collection, made if there is none"


@dataclass(frozen=True, slots=True)
class Globals:
    """The options that every command has."""

    data_dir: str | None = None
    json: bool = False


class Body(Protocol):
    """A module of commands: ``run`` is called with the session and the command's own options."""

    def __call__(self, session: "Session", **params: object) -> int: ...


@dataclass(slots=True)
class Session:
    """One command while it runs."""

    out: Output
    folder: DataFolder = field(default_factory=lambda: DataFolder(Path()))
    process: "Process | None" = None
    if_stopped: str = ""
    """What a signal leaves behind at this moment, as a sentence for people."""

    @property
    def is_collection(self) -> bool:
        return is_collection(self.folder)

    def open(self, *, create: bool = False, begin_anew: bool = False, reading: bool = False) -> None:
        """Open the collection and record this command in it; CollectionError if there is none to open.

        ``reading``: nothing is recorded on a disk that can only be read.
        """
        if self.process is not None:
            return
        open_collection(create=create, begin_anew=begin_anew, reading=reading)
        if reading and is_read_only(self.folder):
            return
        _refresh_settings()
        logs.set_up(early_settings(self.folder).get_text("LOG_LEVEL"), self.folder.logs / "cli.log")
        self.process = _process_model().current()

    def finish(self, code: int, error: str) -> None:
        """Record how this command ended; nobody else of ours waits for it."""
        if self.process is not None:
            self.process.finish(code, error)


def carry_out(target: str, needs: Needs, given: Globals, params: Mapping[str, object]) -> int:
    """Run ``module:function`` as a command and return its exit status; whatever goes wrong is one sentence."""
    session = Session(Output(json=given.json))
    error = ""
    try:
        with _signals():
            code = _prepare_and_run(session, target, needs, given, params)
    except (BadInputError, CollectionError, SettingError, SharedSecretError, TooFewFilesError) as problem:
        code, error = BAD_INPUT, str(problem)
    except (FailedError, ObjectStoreError) as problem:
        code, error = OUR_ERROR, str(problem)
    except ConfError as problem:
        code, error = BAD_INPUT, f"{problem}. Fix it and try again."
    except StoppedError as stop:
        code, error = stop.exit_code, f"Stopped. {session.if_stopped}".rstrip()
    except BrokenPipeError:
        _silence_stdout()
        code = BROKEN_PIPE
    except Exception as problem:  # noqa: BLE001 - the last line of defence: people get a sentence, the log the rest
        code, error = OUR_ERROR, _explain(session, problem)
    return _end(session, code, error)


def _prepare_and_run(session: Session, target: str, needs: Needs, given: Globals, params: Mapping[str, object]) -> int:
    module_name, _, function = target.partition(":")
    session.folder = DataFolder(choose_data_dir(given.data_dir))
    with paused_gc():
        if needs is not Needs.NOTHING:
            refuse_others(session.folder)
            join(session.folder)
            _set_up_django(session.folder, needs)
        body = importlib.import_module(module_name)
    _refuse_early(body, params)
    if needs in (Needs.COLLECTION, Needs.READING, Needs.PAGES, Needs.NEW) or (
        needs is Needs.ANY and session.is_collection
    ):
        session.open(create=needs is Needs.NEW, reading=needs in (Needs.ANY, Needs.READING))
    run: Body = getattr(body, function or "run")
    return run(session, **params)


def _refuse_early(body: ModuleType, params: Mapping[str, object]) -> None:
    """What must not even reach the row of this command: a secret on the command line.

    Every command with `--config` is checked. Its module may say what to do instead (``SECRETS_INSTEAD``), and refuse
    more (``refuse_early``).
    """
    pairs = params.get("config")
    if isinstance(pairs, tuple):
        refuse_secrets = importlib.import_module("archivebox.cli.settings").refuse_secrets
        refuse_secrets(pairs, getattr(body, "SECRETS_INSTEAD", SECRETS_INSTEAD))
    check = getattr(body, "refuse_early", None)
    if check is not None:
        check(params)


def _set_up_django(folder: DataFolder, needs: Needs) -> None:
    if needs is Needs.PAGES:
        require_collection(folder)  # the key that its pages are signed with is made in it
        os.environ["DJANGO_SETTINGS_MODULE"] = "archivebox.web.settings"
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "archivebox.config.settings")
    importlib.import_module("django").setup()


def _process_model() -> "type[Process]":
    """Models can be imported only after Django is set up for the data folder, which options decide."""
    model: type[Process] = importlib.import_module("archivebox.machine.process").Process
    return model


def _refresh_settings() -> None:
    """What other machines have changed since."""
    importlib.import_module("archivebox.machine.fleet_setting").refresh_fleet_settings()


def _end(session: Session, code: int, error: str) -> int:
    if error:
        session.out.warn(error)
    try:
        session.finish(code, error)
    except Exception as problem:  # noqa: BLE001 - the database may be the very thing that failed
        logger.warning("The end of this command could not be recorded: %s", problem)
    return code


def _explain(session: Session, problem: Exception) -> str:
    """A sentence for an error of ours; the traceback goes to the log."""
    log = session.folder.logs / "cli.log"
    details = f"Details are in {log}; " if _log(problem, log) else ""
    if not details and not isinstance(problem, OSError):
        session.out.trace("".join(traceback.format_exception(problem)))
    return f"The command failed: {_sentence(problem)}. {details}`archivebox doctor` looks for the cause."


def _sentence(problem: Exception) -> str:
    from django.db.utils import Error as DatabaseError  # only where something has failed

    from archivebox.base_models.transient import transient_problem  # likewise

    if isinstance(problem, OSError) and problem.strerror:
        return problem.strerror + (f": {problem.filename}" if problem.filename else "")
    if isinstance(problem, DatabaseError):
        known = transient_problem(problem).partition(":")[0]
        why = f"{known[0].lower()}{known[1:]}" if known else "the database cannot be used"
        return f"{why}: {str(problem).partition(chr(10))[0]}"
    return f"{type(problem).__name__}: {problem}".strip()


def _log(problem: Exception, log: Path) -> bool:
    """Whether there is a log that took it."""
    if not os.access(log.parent, os.W_OK):
        return False
    try:
        logs.set_up("ERROR", log)
    except OSError:
        return False
    logger.error("The command failed.", exc_info=problem, extra={"action": "command_failed", "command": sys.argv[1:2]})
    return True


def _silence_stdout() -> None:
    """The reader has gone (``| head``): what Python still flushes at its exit must not raise once more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextlib.contextmanager
def _signals() -> Iterator[None]:
    """While a command runs, Ctrl-C, TERM and a closed terminal raise :class:`StoppedError`: its end is recorded."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:  # nohup, and `command &` in a script: ignoring was decided by our starter
            signal.signal(number, _stop)
    before[signal.SIGTSTP] = signal.signal(signal.SIGTSTP, _pause)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # the terminal has been closed: told of once
            del before[signal.SIGHUP]
        for number, handler in before.items():
            signal.signal(number, handler)


def _pause(signum: int, _frame: FrameType | None) -> None:
    """Ctrl-Z: a handler runs between two statements, so that no lock of SQLite's is held while we are stopped.

    The kernel stops none by that signal whose session has no terminal, as one that is carried out for another process.
    """
    handler = signal.signal(signum, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGSTOP if os.getsid(0) == os.getpid() else signum)
    signal.signal(signum, handler)


def _stop(signum: int, _frame: FrameType | None) -> None:
    if signum == signal.SIGHUP:
        hang_up()
    raise StoppedError(signum)
