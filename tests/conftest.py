"""Owns the fixtures that tests of every level share."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.collection import collection, django_db_setup
from tests.programs import SHARED, Programs
from tests.site.serve import Site

__all__ = ["collection", "django_db_setup"]

ROWS = frozenset({"db", "transactional_db", "library", "library_with_workers", "public_library"})
"""Fixtures that open a database: this process's own, or that of a collection which commands work on."""


LOCAL_WEB = {"PRIVATE_NETWORK_ALLOWLIST": "127.0.0.0/8"}
"""What opens the three origins of tests/site to a crawl, as a person opens an intranet; every test's environment."""


def pytest_configure() -> None:
    """A shell starts what runs in its background with SIGINT ignored; every process of a test would inherit it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.update(LOCAL_WEB)


LEFT_TO_ALL = tuple(
    str(Path(__file__).parent / folder) + os.sep
    for folder in (
        "acceptance", "chaos", "fleet", "integration/engine", "integration/object_store",
        "plugins_bundled/browser", "plugins_bundled/providers", "plugins_bundled/programs",
    )
)  # fmt: skip
"""Folders of tests that start many processes, a browser or what a registry has: `bin/test` runs those of them that are
marked ``default``, `bin/test --all` all."""


@pytest.hookimpl(tryfirst=True)  # before the choice by marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what asks for rows, and what `bin/test` leaves to `--all`."""
    for item in items:
        if isinstance(item, pytest.Function) and ROWS.intersection(item.fixturenames):
            item.add_marker("database")
        if str(item.path).startswith(LEFT_TO_ALL) and not item.get_closest_marker("default"):
            item.add_marker("slow")


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    """The local web (tests/site/README.md), one per test process."""
    with Site() as running:
        yield running


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    """The programs of plugins: `programs.install("ytdlp")` before a test that runs yt-dlp, from the registry, once."""
    shared = os.environ.get(SHARED)
    return Programs(Path(shared) if shared else tmp_path_factory.mktemp("lib"))
