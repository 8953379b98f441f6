"""With STORAGE_URL, a page is sealed after its files are in the object store, and can be fetched from there."""

import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.engine.driver import Collection, collection

pytestmark = pytest.mark.once
URL = "http://one.test/"
HOOKS = {"on_Snapshot__57_words.sh": "echo one > words.txt; mkdir sub || exit 1; ln -s ../words.txt sub/link\n"}


@pytest.fixture
def stored(tmp_path: Path) -> Iterator[Collection]:
    store = tmp_path / "store"
    store.mkdir()
    with collection(tmp_path / "made", STORAGE_URL=store.as_uri()) as made:
        made.plugin("words", HOOKS)
        yield made


def store_of(made: Collection) -> Path:
    return made.base.parent / "store"


def objects(made: Collection) -> set[str]:
    """The keys of pages in the store."""
    store = store_of(made)
    return {path.relative_to(store).as_posix() for path in store.glob("pages/*/*")}


def current(made: Collection) -> set[str]:
    """The keys of the objects that pages have."""
    where = {"stored_at__isnull": False, "unused_at": None, "snapshot__isnull": False}
    return {str(row["key"]) for row in made.rows("StoredObject", "key", **where)}


def folder_of(made: Collection, **where: object) -> Path:
    return made.root / str(made.row("Snapshot", "output_dir", **where)["output_dir"])


def test_a_sealed_page_is_one_object(stored: Collection) -> None:
    stored.run(stored.add(URL))
    assert objects(stored) == current(stored)
    (key,) = current(stored)
    with zipfile.ZipFile(store_of(stored) / key) as archive:
        assert archive.read("words/words.txt") == b"one\n"
        assert archive.testzip() is None


@pytest.mark.default
def test_a_page_is_fetched_before_a_hook_runs_again(stored: Collection) -> None:
    stored.run(stored.add(URL))
    (first,) = current(stored)
    folder = folder_of(stored)
    (folder / "words" / "words.txt").write_text("of no object")
    shutil.rmtree(folder)
    assert stored.actor.ask("run_result", plugin="words", hook_name="on_Snapshot__57_words.sh") == "backoff"
    assert (folder / "words" / "sub" / "link").is_symlink(), "a folder cannot be made where one is"
    assert len(current(stored)) == 1
    assert objects(stored) == {first} | current(stored), "the former object stays for a while"


def test_a_page_waits_for_a_store_that_is_away(stored: Collection) -> None:
    store, aside = store_of(stored), stored.base.parent / "aside"
    store.rename(aside)
    crawl = stored.add(URL)
    stored.watch()
    stored.wait("the reason", lambda: stored.row("Snapshot", "reason")["reason"] == "store_unavailable")
    assert stored.row("Snapshot", "status")["status"] == "started"
    stored.kill()
    stored.watch()
    stored.wait("the second attempt", lambda: len(page_rows(stored)) == 2)
    aside.rename(store)
    stored.wait_sealed(crawl)
    stored.leave()
    assert (stored.row("Snapshot", "reason")["reason"], len(current(stored))) == ("", 1)
    assert objects(stored) <= {row["key"] for row in page_rows(stored)}


def test_a_page_is_given_back_while_the_store_is_away(stored: Collection) -> None:
    store, aside = store_of(stored), stored.base.parent / "aside"
    store.rename(aside)
    crawl = stored.add(URL)
    stored.watch()
    stored.wait("the reason", lambda: stored.row("Snapshot", "reason")["reason"] == "store_unavailable")
    stored.leave()
    assert stored.row("Snapshot", "status")["status"] == "queued"
    aside.rename(store)
    stored.run(crawl)
    assert len(current(stored)) == 1


def page_rows(made: Collection) -> list[dict[str, object]]:
    return [row for row in made.rows("StoredObject", "key", "snapshot") if row["snapshot"]]
