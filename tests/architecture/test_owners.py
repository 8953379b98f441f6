"""What has one owner is written in one place."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.architecture import source

COLUMNS_OF_A_LIFE = {"start_ticks", "pid_ns", "boot_id", "end_reason"}
"""Columns by which a Process row becomes RUNNING or EXITED."""
TRANSITIONS = {source.PACKAGE / "base_models" / name for name in ("transitions.py", "work.py")}
PROCESS_ROW = source.PACKAGE / "machine" / "process_row.py"


def keys_of_dicts(path: Path) -> Iterator[str]:
    for node in ast.walk(source.parse(path)):
        if isinstance(node, ast.Dict):
            yield from (key.value for key in node.keys if isinstance(key, ast.Constant) and isinstance(key.value, str))


def test_the_start_and_the_end_of_a_process_are_written_in_one_place() -> None:
    rows = (
        path for layer in ("machine", "core", "crawls", "workers") for path in (source.PACKAGE / layer).rglob("*.py")
    )
    writers = {path for path in rows if "migrations" not in path.parts and COLUMNS_OF_A_LIFE & set(keys_of_dicts(path))}
    assert writers == {PROCESS_ROW}


RECORDS = {"audit.record", "record_audit"}
OF_OTHERS = {"configure_user", "_noting", "record_audit"}
"""Functions that are called within the transaction of somebody else."""
WITHOUT_A_CHANGE = {"log_login", "log_logout", "log_failed_login", "log_failed_factor", "admit"}
"""Functions that put on record that somebody came, left, or was not let in."""


def records_outside(node: ast.AST, *, is_inside: bool = False) -> Iterator[int]:
    """Lines that put something on record outside of any ``with write_transaction()``; ``noting=`` is called in one."""
    if isinstance(node, ast.With):
        is_inside = is_inside or any(ast.unparse(item) == "write_transaction()" for item in node.items)
    if isinstance(node, ast.keyword) and node.arg == "noting":
        is_inside = True
    if isinstance(node, ast.FunctionDef):
        is_inside = node.name in OF_OTHERS | WITHOUT_A_CHANGE
    if isinstance(node, ast.Call) and ast.unparse(node.func) in RECORDS and not is_inside:
        yield node.lineno
    for child in ast.iter_child_nodes(node):
        yield from records_outside(child, is_inside=is_inside)


def test_what_was_changed_is_put_on_record_in_a_transaction_that_the_change_shares() -> None:
    paths = (path for path in source.modules() if source.PACKAGE / "plugins" not in path.parents)
    assert {source.shown(path): lines for path in paths if (lines := list(records_outside(source.parse(path))))} == {}


def test_a_crawl_is_made_by_the_one_intake_alone() -> None:
    calls = re.compile(r"(?<!def )\bcreate_crawl\(")
    intake = source.PACKAGE / "core" / "intake" / "submit.py"
    assert {path for path in source.modules() if calls.search(path.read_text())} == {intake}


def writes_a_status(node: ast.AST) -> bool:
    """``rows.update(status=…)`` and ``row.status = …``."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr == "update" and any(word.arg == "status" for word in node.keywords)
    targets = node.targets if isinstance(node, ast.Assign) else []
    assigned = (target for found in targets for target in ast.walk(found) if isinstance(target, ast.Attribute))
    return any(target.attr == "status" and isinstance(target.ctx, ast.Store) for target in assigned)


def test_the_status_of_a_row_changes_by_a_transition() -> None:
    """The worker's plan of a page has statuses of its own, which are of no row."""
    layers = (
        "base_models",
        "core",
        "crawls",
        "jobs",
        "machine",
        "storage",
        "web",
        "cli",
        "workers/queue",
        "workers/supervise",
    )
    paths = [path for layer in layers for path in (source.PACKAGE / layer).rglob("*.py")]
    writers = {path for path in paths if any(map(writes_a_status, ast.walk(source.parse(path))))}
    assert writers <= TRANSITIONS
    execute = (source.PACKAGE / "workers" / "execute").rglob("*.py")
    assert not [path for path in execute if "update(status=" in path.read_text()]


VISIBLE = {"Snapshot", "Crawl", "CrawlSchedule", "ArchiveResult", "Process"}
"""Rows that are there for some alone, and what tells of them."""
NARROWED = {"seen_by", "hidden_from"}
OF_ROWS_THAT_ARE_SEEN = {
    ("web/page/cards.py", "ArchiveResult"),
    ("web/live/screencast.py", "Crawl"),
    ("web/live/watch.py", "Crawl"),
    ("web/views/plugins.py", "ArchiveResult"),
    ("replay/moments.py", "ArchiveResult"),
    ("web/server/listeners.py", "Process"),
}
"""These look for what belongs to rows chosen as seen, or choose among them by :class:`ViewerScope` themselves."""


def rows_of_all(node: ast.AST, *, is_narrowed: bool = False) -> Iterator[str]:
    """The models all of whose rows are asked for, but as an argument of what narrows them."""
    if not is_narrowed and isinstance(node, ast.Attribute) and node.attr == "objects":
        yield from {ast.unparse(node.value)} & VISIBLE
    narrows = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in NARROWED
    for child in ast.iter_child_nodes(node):
        yield from rows_of_all(child, is_narrowed=is_narrowed or narrows)


def test_an_entrance_asks_for_rows_that_are_there_for_whoever_asks() -> None:
    layers = (source.PACKAGE / layer for layer in ("web", "api", "replay"))
    paths = [path for layer in layers for path in layer.rglob("*.py") if path.name != "admin.py"]
    found = {
        (str(path.relative_to(source.PACKAGE)), model) for path in paths for model in rows_of_all(source.parse(path))
    }
    assert found == OF_ROWS_THAT_ARE_SEEN


LINUX_ALONE = re.compile(
    r"\b(?:os\.(?:pipe2|pidfd_open|memfd_create|eventfd|splice|fdatasync|copy_file_range|posix_fa\w+|sched_\w+|O_PATH|O_TMPFILE)"
    r"|socket\.(?:SOCK_NONBLOCK|SOCK_CLOEXEC|SO_PEERCRED|MSG_CMSG_CLOEXEC)|select\.(?:epoll|EPOLL\w+)"
    r"|signal\.(?:pidfd_send_signal|sigtimedwait)|resource\.prlimit|time\.CLOCK_BOOTTIME)\b"
)
"""What Python has on Linux, and does not have on macOS."""
LOOK_FIRST = {
    "cli/command_server.py",
    "cli/handover.py",
    "lib/system_calls.py",
    "plugins/base/programs.py",
    "plugins/base/tab.py",
    "plugins/chrome/memory.py",
    "web/server/connection_limit.py",
}
"""What uses it where it is there."""


def test_what_macos_does_not_have_is_called_where_there_is_another_way() -> None:
    callers = {
        str(path.relative_to(source.PACKAGE)) for path in source.modules() if LINUX_ALONE.search(path.read_text())
    }
    assert {path for path in callers if not path.startswith("lib/processes/")} == LOOK_FIRST


SNAPSHOT_NAMES = {"snapshot", "_snapshot", "page", "_page", "former"}
"""What a Snapshot is called."""
OF_PAGE_FOLDERS = {
    "backup/make.py",
    "cli/snapshot.py",
    "core/page_storage/folder.py",
    "core/page_storage/maintenance.py",
    "core/page_storage/uploading.py",
    "jobs/actions.py",
    "replay/folders.py",
    "search/backend.py",
    "search/finding.py",
    "workers/execute/page/rows.py",
    "workers/execute/page/sealing.py",
    "workers/execute/page/storing.py",
    "workers/execute/page_run.py",
}
"""These write or delete the folder of a page, only say where it is, or do without where it is not here."""


def names_a_page_folder(node: ast.AST) -> bool:
    """``snapshot.path``, and ``DATA_FOLDER.root / snapshot.output_dir``."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        right = node.right
        return isinstance(right, ast.Attribute) and right.attr == "output_dir" and last_name(right.value) != "self"
    return isinstance(node, ast.Attribute) and node.attr == "path" and last_name(node.value) in SNAPSHOT_NAMES


def last_name(node: ast.expr) -> str:
    """Of ``self._snapshot`` and of ``_snapshot(request)``: `_snapshot`."""
    node = node.func if isinstance(node, ast.Call) else node
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def test_files_of_a_page_are_read_in_its_local_folder() -> None:
    layers = (path for path in source.modules() if source.PACKAGE / "plugins" not in path.parents)
    found = {
        str(path.relative_to(source.PACKAGE))
        for path in layers
        if any(map(names_a_page_folder, ast.walk(source.parse(path))))
    }
    assert found == OF_PAGE_FOLDERS
