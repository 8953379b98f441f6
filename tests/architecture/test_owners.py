"""What has one owner is written in one place."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.architecture import source

COLUMNS_OF_A_LIFE = {"start_ticks", "pid_ns", "boot_id", "end_reason"}
"""Columns by which a Process row becomes RUNNING or EXITED."""
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
