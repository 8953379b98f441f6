"""A plugin's folder can be copied elsewhere and changed: nothing of it lives in, or comes from, another plugin."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

PLUGINS = Path(__file__).parents[2] / "archivebox" / "plugins"
BUNDLED = sorted(folder for folder in PLUGINS.iterdir() if (folder / "config.json").is_file())
SAYS = "import sys\n\nsys.stderr.write('[copy of {}]')\n"


def imported(path: Path) -> set[str]:
    """Names of modules that a file imports, with the packages that they are in."""
    return names_in(ast.walk(ast.parse(path.read_text())))


def imported_at_once(path: Path) -> set[str]:
    """The same of what it imports whatever it does."""
    return names_in(ast.parse(path.read_text()).body)


def names_in(nodes: Iterable[ast.AST]) -> set[str]:
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and not node.level:
            names |= {str(node.module), *(f"{node.module}.{name.name}" for name in node.names)}
        elif isinstance(node, ast.Import):
            names |= {name.name for name in node.names}
    return names


def helpers(folder: Path) -> dict[str, Path]:
    """A plugin's own modules by the name under which its hooks import them."""
    packages = {path.parent.name: path for path in folder.glob("*/__init__.py")}
    return packages | {path.stem: path for path in folder.glob("*.py") if path.stem.isidentifier()}


@pytest.mark.parametrize("folder", BUNDLED, ids=lambda folder: folder.name)
def test_a_plugin_imports_no_plugin_but_the_base(folder: Path) -> None:
    for path in folder.rglob("*.py"):
        ours = {name for name in imported(path) if name.startswith("archivebox.")}
        assert {name for name in ours if not name.startswith("archivebox.plugins.base")} == set(), path


@pytest.mark.parametrize("folder", BUNDLED, ids=lambda folder: folder.name)
def test_a_copy_uses_its_own_helpers(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "plugins" / f"my_{folder.name}"
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for name, path in helpers(copy).items():
        lines = path.read_text()
        future = "from __future__ import annotations\n"
        head, found, rest = lines.partition(future) if future in lines else ("", "", lines)
        path.write_text(head + found + SAYS.format(name) + rest)
    own = tmp_path / "crawl" / copy.name
    own.mkdir(parents=True)
    env = {"PATH": "/nowhere", "HOME": str(tmp_path), "TIMEOUT": "1", "CRAWL_DIR": str(tmp_path / "crawl")}
    env |= {"LIB_DIR": str(tmp_path / "lib"), "CHROME_BINARY": "/nowhere"}
    for hook in copy.glob("on_*.py"):
        arguments = ["--url=ftp://127.0.0.1/", "--name=there-is-no-such-program", "--binproviders=[]"]
        done = subprocess.run(
            [sys.executable, hook, *arguments], cwd=own, env=env, capture_output=True, text=True, check=False
        )
        wanted = {name for name in helpers(copy) if name in imported_at_once(hook)}
        assert {name for name in wanted if f"[copy of {name}]" not in done.stderr} == set(), done.stderr
        assert "Traceback" not in done.stderr, done.stderr
