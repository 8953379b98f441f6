"""Owns starting actor and watcher: forked from the fork server of tests, which has Django and the models in memory.

Where the platform is an able one; elsewhere, for the portable path and other lengths of leases, each is started anew.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from tests.forked import LOADED, ForkedProcess

READ_WHEN_IMPORTED = frozenset({"ARCHIVEBOX_LEASE_SECONDS", "ARCHIVEBOX_PORTABLE"})
"""Variables that modules of actor and watcher read while they are imported."""


class Tool(ForkedProcess):
    """A module of this folder at work in a process of its own."""

    def __init__(self, name: str, env: Mapping[str, str], *given: object, log: Path | None = None) -> None:
        is_cold = sys.platform != "linux" or not READ_WHEN_IMPORTED.isdisjoint(env)
        super().__init__(_work, f"{__package__}.{name}", dict(env), log, *given, is_cold=is_cold)


def _work(module: str, env: dict[str, str], log: Path | None, *given: object) -> None:
    """What the new process does: ``main`` of its module, with nothing of our environment."""
    os.environ.clear()
    os.environ.update(env)
    spec = find_spec(module)
    sys.argv[:] = [str(spec and spec.origin)]
    if LOADED in sys.modules:
        sys.modules[LOADED].use(Path(env["DATA_DIR"]))
    if log is not None:
        with log.open("ab") as out:
            os.dup2(out.fileno(), 1)
            os.dup2(out.fileno(), 2)
    sys.exit(import_module(module).main(*given))
