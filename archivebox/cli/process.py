"""Carries out `archivebox process`: every process that was started."""

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

from archivebox.base_models.wakeups import wake_local_workers
from archivebox.base_models.work import Request
from archivebox.cli.conditions import find
from archivebox.cli.errors import BadInputError
from archivebox.cli.fields import PROCESS
from archivebox.cli.listing import RowTable, list_rows, record_of
from archivebox.cli.output import Column, Node
from archivebox.cli.session import Session
from archivebox.config.settings import DATA_FOLDER
from archivebox.core.models import Snapshot
from archivebox.core.progress.process_tree import Branch, branches
from archivebox.crawls.models import Crawl
from archivebox.lib.file_watch import ATTRIB, MODIFY, FileWatcher
from archivebox.machine.models import Machine, Process
from archivebox.storage.layout import PACKED_RUNS


def trees(roots: Iterable[Process]) -> Iterator[Node]:
    """Each root with all below it."""
    for root in roots:
        for branch in branches(root.get_tree() or [root]):
            yield _node(branch)


def _node(branch: Branch) -> Node:
    node = _of_process(branch.row) if isinstance(branch.row, Process) else _of_work(branch)
    node.children.extend(map(_node, branch.children))
    return node


def _of_process(row: Process) -> Node:
    return Node(_text(row), record_of(row, seconds=row.seconds), _mark(row))


def _of_work(branch: Branch) -> Node:
    row = branch.row
    text = f"{branch.kind} {row}  [{row.status}]" if row is not None else f"{branch.kind} {branch.pk} (gone)"
    status, name = (row.status, str(row)) if row is not None else (None, None)
    return Node(text, {"type": branch.kind, "id": branch.pk, "status": status, "name": name}, "bold")


def _text(row: Process) -> str:
    seconds = "" if row.seconds is None else f"  {row.seconds:.2f} s"
    return f"{row.kind} {row.what}  pid {row.pid}  {_end(row)}{seconds}"


def _end(row: Process) -> str:
    if row.status != Process.StatusChoices.EXITED:
        return "(running)" if row.status == Process.StatusChoices.RUNNING else "(not started)"
    if row.exit_code is None:
        return row.end_reason or "lost"
    word = f" {row.end_reason}" if row.end_reason not in ("", "exited") else ""
    return f"exit {row.exit_code}{word}"


def _mark(row: Process) -> str:
    if row.status != Process.StatusChoices.EXITED:
        return "green"
    return "" if row.exit_code == 0 else "red"


COLUMNS = (
    Column("id", "id", wraps=True),
    Column("type", "process_type"),
    Column("pid", "pid", right=True),
    Column("status", "status"),
    Column("exit", "exit_code", right=True),
    Column("seconds", "seconds", right=True),
    Column("command", "what", wraps=True),
)
LABELS = {
    "id": "id", "process_type": "type", "worker_type": "kind", "plugin": "plugin", "hook_name": "hook",
    "status": "status", "pid": "pid", "exit_code": "exit status", "end_reason": "ended by", "started_at": "started",
    "ended_at": "ended", "seconds": "seconds", "user_seconds": "CPU, own", "system_seconds": "CPU, system",
    "max_rss": "memory", "cmd": "command", "pwd": "folder", "env": "settings given", "parent_id": "parent",
    "crawl_id": "crawl", "snapshot_id": "snapshot",
    "stdout_file": "output in", "stderr": "last errors",
}  # fmt: skip
SIZES = frozenset({"max_rss"})
POLL_EVERY = 0.2
"""Seconds between two looks at a file where no kernel tells that it changed."""
KILL_WITHIN = 15.0
"""Seconds that a worker has to end a hook that somebody wants ended."""


def list_(
    session: Session,
    *,
    running: bool,
    failed: bool,
    where: Mapping[str, str],
    **given: Any,
) -> int:
    Process.cleanup_stale_running()
    rows = Process.objects.running() if running else Process.objects.all()
    if failed:
        rows = rows.failed()
    if kind := where.get("type"):
        rows = rows.of_type(kind)
    if snapshot := where.get("snapshot"):
        rows = rows.serving(snapshot_id=find(Snapshot, snapshot).pk)
    if crawl := where.get("crawl"):
        rows = rows.serving(crawl_id=find(Crawl, crawl).pk)
    table: RowTable[Process] = RowTable("process", PROCESS, COLUMNS, lambda page: map(_record, page), empty="None.")
    return list_rows(session.out, table, rows, {**given, "where": where})


def tree(session: Session, *, id: str | None, running: bool, limit: int) -> int:  # noqa: A002
    """One tree; without an id the latest ones that this machine started."""
    Process.cleanup_stale_running()
    if id:
        roots = [_find(id)]
    elif running:
        roots = _roots_of_running()
    else:
        own = {session.process.pk} if session.process else set()
        rows = Process.objects.filter(parent__isnull=True).exclude(pk__in=own)
        roots = list(rows.order_by("-id")[:limit])[::-1]
    session.out.tree(trees(roots))
    return 0


def _roots_of_running() -> list[Process]:
    roots: dict[UUID, Process] = {}
    for row in Process.objects.here().running().order_by("id"):
        root = row.root
        roots[root.pk] = root
    return list(roots.values())


def show(session: Session, *, id: str) -> int:  # noqa: A002 - the argument's name
    row = _find(id)
    files = {"stdout_file": _kept_in(row.stdout_file), "stderr_file": _kept_in(row.stderr_file)}
    session.out.facts(_record(row, **files), LABELS, SIZES)
    return 0


def _kept_in(log: Path) -> str:
    """Where a log is: of a sealed page, among what is small of all its runs."""
    packed = log.with_name(PACKED_RUNS)
    return str(packed if packed.exists() and not log.exists() else log)


def tail(session: Session, *, id: str, follow: bool, stderr: bool) -> int:  # noqa: A002
    row = _find(id)
    path = row.stderr_file if stderr else row.stdout_file
    if not path.exists():
        session.out.log((row.stderr if stderr else row.stdout).encode("utf-8", "replace"))
        return 0
    for data in _growing(path, row) if follow else [path.read_bytes()]:
        session.out.log(data)
    return 0


def _growing(path: Path, row: Process) -> Iterator[bytes]:
    """What is in a log, and what comes, until its process ends."""
    watcher = FileWatcher(POLL_EVERY)
    watcher.add(path, MODIFY)
    pidfd = row.identity.open_pidfd() if row.identity else None
    alive = row.identity is not None and row.identity.is_alive()
    with path.open("rb") as log:
        while True:
            yield log.read()
            if not alive:
                break
            ended = watcher.wait(None, *([pidfd] if pidfd is not None else []))
            alive = not ended and row.identity is not None and row.identity.is_alive()
    watcher.close()
    if pidfd is not None:
        os.close(pidfd)


def kill(session: Session, *, ids: tuple[str, ...], now: bool) -> int:
    """End each and all that it started; status 1 if one would not go."""
    left = 0
    for row in [_find(text) for text in ids]:
        if row.machine_id != Machine.current().pk:
            raise BadInputError(f"{row.pk} runs on another machine, {row.machine}: end it there.")
        gone = _ask_its_worker(row) or (row.kill_tree() if now else row.terminate())
        left += not gone
        row.refresh_from_db()
        sentence = (
            f"{row.process_type} {row.pid} has ended." if gone else f"{row.process_type} {row.pid} would not end."
        )
        session.out.event(_record(row), sentence)
    return 1 if left else 0


def _ask_its_worker(row: Process) -> bool:
    """A hook is ended by the worker that holds it, which then knows that it was wanted, and does not try again."""
    parent = row.parent if row.process_type == Process.TypeChoices.HOOK and row.parent_id else None
    if parent is None or not parent.is_running or not row.is_running:
        return False
    Process.objects.filter(pk=row.pk).update(request=Request.KILL)
    watcher = FileWatcher(POLL_EVERY)
    watcher.add(DATA_FOLDER.wakeup_file, ATTRIB)
    wake_local_workers()
    deadline = time.monotonic() + KILL_WITHIN
    ended = Process.objects.exited().filter(pk=row.pk)
    while not (gone := ended.exists()) and time.monotonic() < deadline:
        watcher.wait(1.0)
    watcher.close()
    return gone


def _find(text: str) -> Process:
    """By id, or by the pid of a process that runs now."""
    if not text.isdigit() or len(text) >= 8:
        return find(Process, text)
    row = Process.objects.get_by_pid(int(text))
    if row is None:
        raise BadInputError(
            f"No process of this collection has the pid {text} now. `archivebox process list` shows all."
        )
    found: Process = row
    return found


def _record(row: Process, **more: object) -> dict[str, object]:
    return record_of(row, cmd_summary=row.cmd_summary, what=row.what, seconds=row.seconds, **more)
