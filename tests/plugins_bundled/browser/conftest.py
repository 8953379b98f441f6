"""One browser and one local web for the tests of a file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.plugins_bundled.browser.chain import Crawl
from tests.site.serve import Site


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    with Site() as running:
        yield running


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawl]:
    with Crawl(tmp_path_factory.mktemp("crawl"), TIMEOUT="30") as running:
        yield running
