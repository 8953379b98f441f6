"""Owns starting actor and watcher: forked from a fork server of tests, which has Django and the models in memory."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from tests.forked import LOADED, ForkedProcess


class Tool(ForkedProcess):
    """A module of this folder at work in a process of its own."""

    def __init__(self, name: str, env: Mapping[str, str], *given: object, log: Path | None = None) -> None:
        super().__init__(_work, dict(env), f"{__package__}.{name}", log, *given)


def _work(env: dict[str, str], module: str, log: Path | None, *given: object) -> None:
    """What the new process does: ``main`` of its module, with nothing of our environment."""
    os.environ.clear()
    os.environ.update(env)
    spec = find_spec(module)
    sys.argv[:] = [str(spec and spec.origin)]
    import_module(LOADED).use(Path(env["DATA_DIR"]))
    if log is not None:
        with log.open("ab") as out:
            os.dup2(out.fileno(), 1)
            os.dup2(out.fileno(), 2)
    sys.exit(import_module(module).main(*given))
