"""Writes the lock files of bundled plugins: `python -m tests.suite.locks [PLUGIN …]`, after a change of what they pin.

Each names every package that pip installs for a plugin, with its version and the hashes of its files, for all systems.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from archivebox.contract.binaries import BinaryRequest
from archivebox.contract.discovery import BUNDLED, REQUIREMENTS_LOCK, read_plugin

COMPILE = (
    "pip", "compile", "--quiet", "--universal", "--python-version", "3.11", "--generate-hashes", "--no-emit-index-url",
    "--no-header", "--no-annotate",
)  # fmt: skip


def locked_requests() -> Iterator[tuple[str, BinaryRequest]]:
    """Each bundled plugin and what it has pip install."""
    for folder in sorted(BUNDLED.iterdir()):
        plugin = read_plugin(folder.name, folder) if folder.is_dir() else None
        for request in plugin.binaries if plugin is not None else ():
            if request.overrides.get("pip") is not None:
                yield folder.name, request


def requirements_of(request: BinaryRequest) -> list[str]:
    """What a request asks pip for, as pip is told."""
    options = request.overrides["pip"]
    assert isinstance(options, dict), request
    packages = options.get("packages", [request.name])
    assert isinstance(packages, list), request
    first, *others = map(str, packages)
    return [f"{first}=={options['version']}" if "version" in options else first, *others]


def main(wanted: list[str]) -> int:
    uv = Path(sys.executable).with_name("uv")
    for plugin, request in locked_requests():
        if not wanted or plugin in wanted:
            lock = BUNDLED / plugin / REQUIREMENTS_LOCK
            text = "\n".join(requirements_of(request))
            subprocess.run([uv, *COMPILE, "--output-file", lock, "-"], input=text, text=True, check=True)
            print(lock)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
