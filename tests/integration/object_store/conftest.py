"""Owns the stores that the conformance suite runs over."""

from pathlib import Path

import pytest

from archivebox.lib.object_store import ObjectStore, open_store


@pytest.fixture(params=["folder"])
def store(tmp_path: Path) -> ObjectStore:
    """An empty store."""
    return open_store(f"file://{tmp_path}")
