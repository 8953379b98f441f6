"""Owns who writes the files of imported pages: two threads, each with a process of its own where there are many pages.

Hashing and the kernel's work need no interpreter, but the rest does: two threads of one interpreter come to 1.3 of two
cores. A process is asked by its thread for some pages at a time. It ends when its pipe is closed, or when its parent is
dead. If it is killed, its thread writes those pages itself, from their beginning.
"""

import json
import logging
import os
import pickle
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, ExitStack, suppress
from enum import IntEnum
from functools import partial
from itertools import count
from pathlib import Path
from queue import Empty, PriorityQueue, SimpleQueue
from types import TracebackType
from typing import Any, Self, TypeVar, cast

from archivebox.imports.page_files import PageFilesWriter, PlannedFiles, WrittenFiles
from archivebox.imports.transfer import Transfer, write_all
from archivebox.lib.module_process import module_process
from archivebox.lib.syncing import sync_file_system

log = logging.getLogger(__name__)
T = TypeVar("T")
Request = tuple[str, Sequence[object]]
"""What a process is to do, and to which pages."""

THREADS = 2
"""How many pages are written at a time."""
MOST = 16
"""Pages that a process is asked for at once."""
SECONDS = 0.05
"""How long it is to take for them: what a stop waits for, or the other process at the end."""
STOP_EVERY = 0.1
"""Seconds between two looks whether to stop, while processes are waited for."""
_PROGRAM = "archivebox.imports.writing_main"
_LOCALE = ("LANG", "LC_ALL", "LC_CTYPE", "PYTHONUTF8")
"""What says how names of files are read."""


class _Priority(IntEnum):
    """Which waiting requests are carried out first: a batch can be committed once it is compared."""

    COMPARE = 0
    WRITE = 1


class WritingEndedError(Exception):
    """The process has ended before it answered."""


class WritingProcess:
    """A process that writes pages, started when it is needed, and again when it was killed."""

    def __init__(self, keys: Path, transfer: Transfer) -> None:
        self._arguments = {"keys": str(keys), "transfer": str(transfer), "parent": os.getpid()}
        self._lock, self._stack = threading.Lock(), ExitStack()
        self._popen: subprocess.Popen[bytes] | None = None
        self._may_run = True

    def ask(self, request: Request) -> list[Any]:
        """Its answer; WritingEndedError if it ends before. OSError where the collection cannot be written to."""
        popen = self._running()
        try:
            write_all(popen.stdin.fileno(), pickle.dumps(request))  # type: ignore[union-attr]  # a pipe
            answer = pickle.load(popen.stdout)  # type: ignore[arg-type]  # noqa: S301 - a pipe of a process of ours
        except (BrokenPipeError, EOFError, pickle.UnpicklingError):
            self.end()
            raise WritingEndedError from None
        if isinstance(answer, OSError):
            raise answer
        return cast("list[Any]", answer)

    def forbid(self) -> None:
        """Kill it, and start no other, until it is allowed; whoever has asked it gets a WritingEndedError."""
        with self._lock:
            self._may_run = False
            if self._popen is not None:
                self._popen.kill()

    def allow(self) -> None:
        self._may_run = True

    def end(self) -> None:
        """Kill it, and wait for its end; nobody may ask it meanwhile."""
        with self._lock:
            if self._popen is not None:
                self._popen.kill()
            self._popen = None
            self._stack.close()

    def _running(self) -> "subprocess.Popen[bytes]":
        with self._lock:
            if not self._may_run:
                raise WritingEndedError
            if self._popen is None:
                self._popen = self._stack.enter_context(self._process())
            return self._popen

    def _process(self) -> "AbstractContextManager[subprocess.Popen[bytes]]":
        locale = {name: os.environ[name] for name in _LOCALE if name in os.environ}
        return module_process(_PROGRAM, json.dumps(self._arguments), locale=locale)


class WritingPool:
    """Writes and compares the files of pages, those of two at a time. Close it.

    ``has_processes``: whether processes do it: a start takes 0.1 s of a processor. ``stop`` is called again and again,
    and may raise.
    """

    def __init__(self, keys: Path, transfer: Transfer, stop: Callable[[], None], *, has_processes: bool) -> None:
        self.stop, self._has_processes = stop, has_processes
        self._here = PageFilesWriter(keys, transfer, stop)
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="import")
        self._syncing = ThreadPoolExecutor(1, thread_name_prefix="sync")
        self._processes = [WritingProcess(keys, transfer) for _ in range(THREADS if has_processes else 0)]
        self._idle = SimpleQueue[WritingProcess]()
        for process in self._processes:
            self._idle.put(process)
        self._is_cancelled = False
        self._waiting = PriorityQueue[tuple[_Priority, int, Future[Any], Callable[[], object]]]()
        self._number = count()
        self._futures = set[Future[Any]]()
        """What was begun and has not ended."""
        self.at_once = 1
        """Pages that had better be asked for together."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @property
    def asks_singly(self) -> bool:
        """Whether one page takes as long as what is asked for together: it is large, or nobody is asked."""
        return self.at_once == 1

    @property
    def is_idle(self) -> bool:
        """Whether a thread has nothing to do."""
        return len(self._futures) < THREADS

    def write(self, pages: Sequence[PlannedFiles]) -> "Future[list[WrittenFiles]]":
        """Begin to write them. The result: OSError where the collection cannot be written to."""
        return self._begin(_Priority.WRITE, partial(self._write, pages))

    def differences(self, pages: Sequence[tuple[str, Any]]) -> "Future[list[tuple[list[str], list[str]]]]":
        """Begin to compare what lies in folders with the hashes of what was read: which files miss, which differ."""
        return self._begin(_Priority.COMPARE, partial(self._differences, pages))

    def sync(self, folder: Path) -> "Future[None]":
        """Begin to have all that was written to the file system of a folder brought to its disk."""
        return self._syncing.submit(sync_file_system, folder)

    def result(self, future: "Future[list[T]]") -> list[T]:
        """Wait for it; whatever ``stop`` raises meanwhile."""
        while not wait([future], STOP_EVERY).done:
            self.stop()
        return future.result()

    def cancel(self) -> None:
        """End all that was begun: when this returns, nobody writes any more."""
        self._is_cancelled = True
        for process in self._processes:
            process.forbid()
        begun = list(self._futures)
        for future in begun:
            future.cancel()
        wait(begun)
        for process in self._processes:
            process.allow()
        self._is_cancelled = False

    def close(self) -> None:
        """End all that was begun, and the processes."""
        self.cancel()
        self._threads.shutdown()
        self._syncing.shutdown()
        for process in self._processes:
            process.end()

    def _begin(self, priority: _Priority, work: "Callable[[], list[T]]") -> "Future[list[T]]":
        future = Future[list[T]]()
        self._waiting.put((priority, next(self._number), future, work))
        self._threads.submit(self._carry_out_waiting)
        self._futures.add(future)
        future.add_done_callback(self._futures.discard)
        return future

    def _carry_out_waiting(self) -> None:
        """Carry out all requests that wait, also those submitted for the other thread, which then finds none."""
        with suppress(Empty):
            while True:
                _, _, future, work = self._waiting.get_nowait()
                if future.set_running_or_notify_cancel():
                    _carry_out(future, work)

    def _write(self, pages: Sequence[PlannedFiles]) -> list[WrittenFiles]:
        begun = time.monotonic()
        written = self._ask(("write", pages))
        if written is None:
            return [self._here.write(page) for page in pages]
        seconds = max(time.monotonic() - begun, 0.001)
        self.at_once = min(max(int(len(pages) * SECONDS / seconds), 1), MOST)
        return written

    def _differences(self, pages: Sequence[tuple[str, Any]]) -> list[tuple[list[str], list[str]]]:
        found = self._ask(("compare", pages))
        return [self._here.differences(*page) for page in pages] if found is None else found

    def _ask(self, request: Request) -> list[Any] | None:
        """The answer of a process; None where this one has to do it."""
        if not self._has_processes:
            return None
        process = self._idle.get()
        try:
            return process.ask(request)
        except WritingEndedError:
            if self._is_cancelled:
                raise
            log.warning("A process that writes imported pages was killed: they are written anew. action=writing_ended")
            return None
        finally:
            self._idle.put(process)


def _carry_out(future: "Future[Any]", work: Callable[[], object]) -> None:
    try:
        future.set_result(work())
    except Exception as problem:  # noqa: BLE001 - whoever waits for the result gets it
        future.set_exception(problem)
