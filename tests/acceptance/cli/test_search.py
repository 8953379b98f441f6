"""What was archived is found by what it says: from `add` to `search`, and after every file of the index is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.cli.conftest import Type, Typed, typist
from tests.databases import break_search_index, search_engine
from tests.empty import make_empty
from tests.site.serve import Site

pytestmark = pytest.mark.default


def where(found: Typed) -> dict[object, list[object]]:
    """The last part of each URL → where the words are."""
    return {
        str(record["url"]).rpartition("/")[2]: [match["where"] for match in record["matches"]]  # type: ignore[attr-defined]  # a list of objects
        for record in found.records
    }


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that these tests share: each leaves the index whole."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def cli(home: Path) -> Type:
    return typist(home)


@pytest.fixture(scope="module")
def archived(cli: Type, home: Path, site: Site) -> Path:
    """A collection with two pages."""
    make_empty(home / "data")
    plugins = f"wget,htmltotext,title,search_backend_{search_engine()}"
    urls = [site.url_for("/article"), site.url_for("/unicode")]
    done = cli("add", f"--plugins={plugins}", "--tag=fruit", *urls, PRIVATE_NETWORK_ALLOWLIST="127.0.0.1")
    assert done.code == 0, done.err
    return home / "data"


@pytest.mark.database
def test_text_is_found_with_its_place_and_surroundings(cli: Type, archived: Path) -> None:
    assert where(cli("search", "猫")) == {"unicode": ["htmltotext/htmltotext.txt"]}
    (found,) = cli("search", '"harder to keep than a newspaper"').records
    assert "A page is harder to keep than a newspaper." in found["matches"][0]["snippet"]  # type: ignore[index]  # a list of objects
    assert where(cli("search", "fruit")) == {"unicode": ["tags"], "article": ["tags"]}
    shown = cli("search", "fruit", "--csv=url,tags", "--with-headers", "--sort=url").out.splitlines()
    assert [line.rpartition("/")[2] for line in shown] == ["url,tags", "article,fruit", "unicode,fruit"]
    assert cli("search", "fruit", "--html").out.count("<a ") == 2
    assert cli("search", "newspaper", "--tag=none").records == []

    assert cli("remove", "--yes", str(found["url"])).code == 0
    assert cli("search", "newspaper").records == []
    assert cli("remove", "--yes", "--undo", str(found["url"])).code == 0
    assert where(cli("search", "newspaper")) == {"article": ["htmltotext/htmltotext.txt"]}

    break_search_index(archived)
    broken = cli("search", "unicode")
    assert (broken.code, where(broken)) == (1, {"unicode": ["url"]})
    assert "archivebox manage reindex" in broken.err
    (archived / "run" / "reindexed").write_text('{"engine": "another", "snapshot": "x"}')
    made = cli("manage", "reindex").record
    assert made == {"type": "Reindex", "snapshots": 2, "texts": 2, "engine": search_engine()}
    assert where(cli("search", "猫")) == {"unicode": ["htmltotext/htmltotext.txt"]}
    assert cli("manage", "reindex", "--only", str(found["url"])).record["snapshots"] == 1


@pytest.mark.database
def test_a_reindex_goes_on_where_it_was_interrupted(cli: Type, archived: Path) -> None:
    first = min(str(record["id"]) for record in cli("list").records)
    (archived / "run" / "reindexed").write_text(f'{{"engine": "{search_engine()}", "snapshot": "{first}"}}')
    assert cli("manage", "reindex").record["texts"] == 1
    assert not (archived / "run" / "reindexed").exists()


def test_an_engine_that_is_not_there_is_said(cli: Type, archived: Path) -> None:
    done = cli("search", "article", SEARCH_BACKEND_ENGINE="none")
    assert (done.code, where(done)) == (1, {"article": ["url"]})
    assert "set SEARCH_BACKEND_ENGINE to one of postgresql, ripgrep, sonic, sqlite" in done.err
    assert cli("manage", "reindex", SEARCH_BACKEND_ENGINE="").code == 2
    assert archived.is_dir()
