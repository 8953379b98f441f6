"""Of a page that says what its last version says, only that it was looked at is kept, where a crawl wishes so."""

import pytest

from tests.integration.engine.driver import Collection

pytestmark = pytest.mark.database
URL = "http://one.test/"


def capture(made: Collection, words: str, *, keep_unchanged: bool = False) -> str:
    (made.root / "words").write_text(words)
    crawl = made.add(URL, KEEP_UNCHANGED=keep_unchanged)
    made.run(crawl)
    return str(made.row("Snapshot", "pk", crawl_id=crawl)["pk"])


def kept(made: Collection) -> list[str]:
    return sorted(str(row["pk"]) for row in made.rows("Snapshot", "pk", retired_at=None))


def test_a_new_version_is_kept_where_the_page_says_something_else(forked: Collection) -> None:
    says = {"on_Snapshot__57_words.sh": 'cat "$DATA_DIR/words" > words.txt\n'}
    forked.plugin("words", says, config={"x-outputs": [{"role": "text", "file": "*.txt"}]})
    first = capture(forked, "One  two\n")
    assert kept(forked) == [first], "there is nothing to compare it with"

    same = capture(forked, "One two")
    assert kept(forked) == [first]
    look = forked.row("UnchangedCheck", "snapshot_id", "instead")
    assert (str(look["snapshot_id"]), str(look["instead"])) == (first, same)
    assert not (forked.root / forked.row("Snapshot", "output_dir", pk=same)["output_dir"]).exists()
    assert forked.row("Snapshot", "status", pk=same)["status"] == "sealed"

    changed = capture(forked, "One three")
    assert kept(forked) == sorted([first, changed])
    assert (forked.root / forked.row("Snapshot", "output_dir", pk=changed)["output_dir"]).is_dir()

    wanted = capture(forked, "One three", keep_unchanged=True)
    assert kept(forked) == sorted([first, changed, wanted]), "kept, unless somebody says otherwise"


def test_a_folder_that_cannot_be_deleted_ends_no_worker(forked: Collection) -> None:
    away = 'mv "$SNAP_DIR" "$SNAP_DIR.away" && ln -s "$SNAP_DIR.away" "$SNAP_DIR"\n'
    says = {"on_Snapshot__57_words.sh": "echo one > words.txt\n", "on_Snapshot__58_away.sh": away}
    forked.plugin("words", says, config={"x-outputs": [{"role": "text", "file": "*.txt"}]})
    first = capture(forked, "")
    capture(forked, "")
    assert kept(forked) == [first]
    assert {row["exit_code"] for row in forked.processes(worker_type="worker")} == {0}
