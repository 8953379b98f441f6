"""Hooks find our modules on their path, and none of our libraries."""

import subprocess
import sys

import pytest

from archivebox.hooks import HOOK_PATH


def import_there(module: str) -> subprocess.CompletedProcess[str]:
    """Import a module in a Python without any installed package, as the environment of a hook may be."""
    command = [sys.executable, "-S", "-c", f"import {module}; print({module}.__file__)"]
    env = {"PYTHONPATH": str(HOOK_PATH), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, env=env, cwd="/", capture_output=True, text=True, check=False)


@pytest.mark.parametrize("module", ["archivebox.plugins.base", "archivebox.plugins.base.download"])
def test_our_modules_are_found_where_nothing_is_installed(module: str) -> None:
    found = import_there(module)
    assert found.stdout.startswith(str(HOOK_PATH.parents[1])), found.stderr


def test_nothing_else_is_on_the_path() -> None:
    assert [path.name for path in HOOK_PATH.iterdir() if path.name != "__pycache__"] == ["archivebox.py"]
