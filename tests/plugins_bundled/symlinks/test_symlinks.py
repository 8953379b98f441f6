"""The tree of links, by the real hook."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HOOK = Path(__file__).parents[3] / "archivebox" / "plugins" / "symlinks" / "on_Snapshot__95_symlinks.py"
CHECKOUT = HOOK.parents[3]
KEY = "01a201e3-83ad-7649-b830-8b60b2ebbb4d"


def run(data: Path, url: str) -> dict[str, Any]:
    own = data / "users" / "u" / "snapshots" / "20260131" / "example.com" / KEY / "symlinks"
    own.mkdir(parents=True, exist_ok=True)
    env = {"DATA_DIR": str(data), "PYTHONPATH": str(CHECKOUT)}
    command = [sys.executable, str(HOOK), f"--url={url}"]
    done = subprocess.run(command, cwd=own, env=env, capture_output=True, check=False)
    record: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return record


@pytest.mark.parametrize(
    ("url", "page"),
    [
        ("https://example.com/", "index"),
        ("https://example.com/%E6%97%A5%E6%9C%AC/a..%2f..b?q=1", "日本-a-b"),
        (f"https://example.com/{'é' * 500}", "é" * 50),
    ],
)
def test_a_page_is_found_by_date_and_by_host(tmp_path: Path, url: str, page: str) -> None:
    data = tmp_path / "data"
    assert run(data, url)["status"] == run(data, url)["status"] == "succeeded"
    moved = data.rename(tmp_path / "moved")
    for name in (f"by_date/2026-01-31/example.com_{page}_b2ebbb4d", f"by_host/example.com/2026-01-31_{page}_b2ebbb4d"):
        assert (moved / "browse" / name).resolve().name == KEY
    assert len([path for path in (moved / "browse").rglob("*") if path.is_symlink()]) == 2


def test_a_tree_that_cannot_grow_is_said(tmp_path: Path) -> None:
    (tmp_path / "browse").write_text("in the way")
    result = run(tmp_path, "https://example.com/")
    assert result["status"] == "failed"
    assert "SYMLINKS_DIR" in result["output_str"]
