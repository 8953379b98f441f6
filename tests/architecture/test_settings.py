"""Each setting that can be set has somebody who reads it."""

import ast

from archivebox.config.core import CORE_SETTINGS
from tests.architecture import source


def test_each_declared_setting_has_a_reader() -> None:
    """Its name, as a whole text, in a module that does not declare it."""
    read: set[str] = set()
    for path in source.modules():
        if path != source.PACKAGE / "config" / "core.py":
            constants = (node.value for node in ast.walk(source.parse(path)) if isinstance(node, ast.Constant))
            read |= {value for value in constants if isinstance(value, str)}
    assert sorted(set(CORE_SETTINGS) - read) == []
