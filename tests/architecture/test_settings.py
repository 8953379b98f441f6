"""Each setting that can be set has somebody who reads it."""

import ast
import json
from collections.abc import Iterator

from archivebox.config.core import CORE_SETTINGS
from archivebox.contract.schema import Scope
from tests.architecture import source


def fallbacks_of_plugins() -> Iterator[str]:
    """The settings from which bundled plugins take one of their own that is not set."""
    for path in source.PACKAGE.glob("plugins/*/config.json"):
        for declared in json.loads(path.read_text()).get("properties", {}).values():
            yield declared.get("x-fallback", "")


def test_each_declared_setting_has_a_reader() -> None:
    """Its name, as a whole text, in a module that does not declare it, or as what a plugin falls back to."""
    read = set(fallbacks_of_plugins())
    for path in source.modules():
        if path != source.PACKAGE / "config" / "core.py":
            constants = (node.value for node in ast.walk(source.parse(path)) if isinstance(node, ast.Constant))
            read |= {value for value in constants if isinstance(value, str)}
    assert sorted(set(CORE_SETTINGS) - read) == []


FOR_ALL_CRAWLS = (
    "engine.py",
    "worker.py",
    "job_executor.py",
    "orchestrator.py",
    "watch.py",
    "hosts.py",
    "readiness_check.py",
)
"""What works for all crawls of a machine has no settings of one of them."""


def test_what_works_for_all_crawls_reads_no_setting_of_one() -> None:
    read: set[str] = set()
    for path in source.modules():
        if "workers" in path.parts and path.name in FOR_ALL_CRAWLS:
            constants = (node.value for node in ast.walk(source.parse(path)) if isinstance(node, ast.Constant))
            read |= {value for value in constants if isinstance(value, str)}
    assert len(read & CORE_SETTINGS.keys()) > 10
    assert [name for name in read & CORE_SETTINGS.keys() if CORE_SETTINGS[name].scope is Scope.CRAWL] == []
