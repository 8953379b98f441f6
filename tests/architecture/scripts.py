"""Has mypy check the scripts of plugins (`make types`).

mypy cannot import them under their own paths: names have dots (``x.bg.py``), and scripts import the modules beside
them by short names. So each is linked under a unique name, and the folders of plugins are on mypy's path. Two plugins
that have modules of one name are checked in two runs.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.architecture import source

EXCLUDED: list[str] = tomllib.loads((source.ROOT / "pyproject.toml").read_text())["tool"]["mypy"]["exclude"]
CHECKED_HERE = [re.compile(pattern) for pattern in EXCLUDED if "plugins" in pattern]
LINKS = source.ROOT / ".mypy_cache" / "scripts"
"""At one place, so that mypy finds in its cache what has not changed."""


def scripts(root: Path) -> list[Path]:
    """Python files of plugins that ``mypy archivebox tests`` leaves out."""
    files = sorted(file for kind in ("archivebox", "tests") for file in (root / kind / "plugins").glob("*/*.py"))
    return [file for file in files if not file.stem.isidentifier() or _is_excluded(str(file.relative_to(root)))]


def _is_excluded(path: str) -> bool:
    return any(pattern.search(path) for pattern in CHECKED_HERE)


def module_name(script: Path) -> str:
    """A name for a script that no other has and that can be imported."""
    return re.sub(r"\W", "_", "__".join([*script.parts[-4:-1], script.stem]))


def groups(found: Iterable[Path]) -> list[dict[Path, list[Path]]]:
    """Scripts by plugin, in groups of plugins that share no name of a module."""
    plugins: dict[Path, list[Path]] = {}
    for script in found:
        plugins.setdefault(script.parent, []).append(script)
    result: list[tuple[set[str], dict[Path, list[Path]]]] = []
    for plugin, its_scripts in plugins.items():
        modules = set(_modules(plugin)) - {script.stem for script in its_scripts}
        names, group = next((group for group in result if not group[0] & modules), (set[str](), {}))
        if not group:
            result.append((names, group))
        names |= modules
        group[plugin] = its_scripts
    return [group for _, group in result]


def _modules(plugin: Path) -> Iterator[str]:
    yield from (file.stem for file in plugin.glob("*.py"))
    yield from (file.parent.name for file in plugin.glob("*/__init__.py"))


def errors(root: Path, links: Path) -> list[str]:
    """What mypy finds in the scripts, a line each, with their own paths."""
    shutil.rmtree(links, ignore_errors=True)
    found: list[str] = []
    for number, group in enumerate(groups(scripts(root))):
        folder = links / str(number)
        folder.mkdir(parents=True)
        paths = {folder / f"{module_name(script)}.py": script for some in group.values() for script in some}
        for link, script in paths.items():
            link.symlink_to(script)
        lines = _mypy(list(paths), list(group))
        for link, script in paths.items():
            lines = re.sub(rf"^.*/{link.name}:", f"{script.relative_to(root)}:", lines, flags=re.MULTILINE)
        found += lines.splitlines()
    return found


def _mypy(files: list[Path], path: list[Path]) -> str:
    """Return what mypy prints; raises CalledProcessError when it fails to run."""
    command = [sys.executable, "-m", "mypy", "--no-error-summary", *map(str, files)]
    environment = os.environ | {"MYPYPATH": os.pathsep.join(map(str, path))}
    done = subprocess.run(command, cwd=source.ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode not in {0, 1} or bool(done.returncode) != bool(done.stdout):
        raise subprocess.CalledProcessError(done.returncode, command, done.stdout, done.stderr)
    return done.stdout


if __name__ == "__main__":
    lines = errors(source.ROOT, LINKS)
    print(*lines or [f"Success: no issues found in {len(scripts(source.ROOT))} scripts of plugins"], sep="\n")
    sys.exit(bool(lines))
