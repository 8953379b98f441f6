"""Of a page that says what its last version says, only that it was looked at is kept, where a crawl wishes so."""

import json
from pathlib import Path

import pytest

from tests.integration.engine.driver import Collection

URL = "http://one.test/"


def capture(made: Collection, words: str, *, keep_unchanged: bool | str = False) -> str:
    (made.root / "words").write_text(words)
    crawl = made.add(URL, KEEP_UNCHANGED=keep_unchanged)
    made.run(crawl)
    return str(made.row("Snapshot", "pk", crawl_id=crawl)["pk"])


def kept(made: Collection) -> list[str]:
    return sorted(str(row["pk"]) for row in made.rows("Snapshot", "pk", retired_at=None))


@pytest.mark.database
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


def page_of(made: Collection, key: str) -> Path:
    return made.root / str(made.row("Snapshot", "output_dir", pk=key)["output_dir"])


def linked_collection(made: Collection) -> None:
    """A page whose text says what the file `words` says, with a picture that differs each time, and its hashes."""
    hooks = {
        "on_Snapshot__57_words.sh": 'cat "$DATA_DIR/words" > words.txt\n',
        "on_Snapshot__58_picture.sh": "head -c 50000 /dev/urandom > picture.png\n",
    }
    outputs = [{"role": "text", "file": "*.txt"}, {"role": "picture", "file": "*.png"}]
    made.plugin("words", hooks, config={"x-outputs": outputs})
    own = {"on_Snapshot__59_own.sh": "head -c 5000 /dev/urandom > own.bin\n"}
    made.plugin("own", own, config={"x-outputs": [{"role": "headers", "file": "own.bin"}]})


@pytest.mark.default
@pytest.mark.database
def test_an_unchanged_version_has_the_files_of_the_one_before(forked: Collection) -> None:
    linked_collection(forked)
    first, same, other = (
        page_of(forked, capture(forked, words, keep_unchanged="linked")) for words in ("One", "One ", "Two")
    )
    picture, own = "words/picture.png", "own/own.bin"
    assert (same / picture).samefile(first / picture)
    assert not (same / own).samefile(first / own), "what speaks about the page is its own"
    assert (same / "words" / "words.txt").stat().st_nlink == 1, "too small for a link"
    note = json.loads((same / "linked_outputs.json").read_text())
    assert note == {"snapshot": first.name, "files": [picture]}
    assert (other / picture).stat().st_nlink == 1
    assert not (first / "linked_outputs.json").exists()
    assert not (other / "linked_outputs.json").exists()
    assert [path.name for path in first.glob(".hooks/linked*")] == []
    assert len(kept(forked)) == 3


def test_what_is_hashed_is_the_linked_file(forked: Collection) -> None:
    linked_collection(forked)
    hash_all = "sha256sum ../words/picture.png > hashes.json\n"
    config = {
        "x-outputs": [{"role": "evidence", "file": "hashes.json"}],
        "x-hooks": {"on_Snapshot__93_sums.sh": {"derived": True}},
    }
    forked.plugin("sums", {"on_Snapshot__93_sums.sh": hash_all}, config=config)
    pages = [page_of(forked, capture(forked, "One", keep_unchanged="linked")) for _ in range(2)]
    sums = [(page / "sums" / "hashes.json").read_text() for page in pages]
    assert sums[0] == sums[1]


def test_a_hook_that_runs_again_writes_into_no_other_version(forked: Collection) -> None:
    linked_collection(forked)
    more = '[ -e "$DATA_DIR/more" ] || exit 75\necho "$SNAP_DIR" >> picture.png\n'
    (forked.root / "plugins" / "words" / "on_Snapshot__60_more.sh").write_text(more)
    pages = [page_of(forked, capture(forked, "One", keep_unchanged="linked")) for _ in range(2)]
    before = (pages[0] / "words" / "picture.png").read_bytes()
    assert (pages[1] / "words" / "picture.png").samefile(pages[0] / "words" / "picture.png")
    (forked.root / "more").touch()
    assert forked.actor.ask("time_has_come") == 2
    forked.watch()
    hook = "on_Snapshot__60_more.sh"
    forked.wait("both retries", lambda: {row["status"] for row in more_results(forked, hook)} == {"succeeded"})
    forked.wait_sealed()
    forked.leave()
    for page in pages:
        assert (page / "words" / "picture.png").read_bytes() == before + f"{page}\n".encode()


def more_results(made: Collection, hook: str) -> list[dict[str, object]]:
    return [dict(row) for row in made.rows("ArchiveResult", "status", hook_name=hook)]
