"""What is tidied up at the seal, whatever hooks have left there."""

import json
from collections.abc import Mapping
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from archivebox.machine.process import Process
from archivebox.workers.execute.page.packed_runs import ANY, pack, sizes_on_record
from archivebox.workers.execute.page.sealing import tidy
from tests.factories import row, snapshot

HOOK, OTHER = "on_Snapshot__10_x.sh", "on_Snapshot__20_y.bg.py"


def run(folder: Path, hook: str, **files: bytes) -> tuple[str, UUID]:
    """The files of one run of a hook, by the first word of their suffix: its name, its process."""
    process_id = uuid4()
    suffixes = {"cmd": "cmd.sh", "stdout": "stdout.log", "stderr": "stderr.log", "pid": "pid"}
    for kind, content in files.items():
        (folder / f"{hook}.{process_id}.{suffixes[kind]}").write_bytes(content)
    return f"{hook}.{process_id}", process_id


def said(stdout: int, stderr: int = 0) -> Mapping[str, int]:
    return {"cmd.sh": ANY, "stdout.log": stdout, "stderr.log": stderr}


def lines(folder: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in (folder / "runs.jsonl").read_text().splitlines()]


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_what_is_small_of_runs_on_record_is_a_line_each_and_later_runs_are_added(tmp_path: Path) -> None:
    one, its_id = run(tmp_path, HOOK, cmd=b"#!/bin/sh\n", stdout="é\n".encode(), stderr=b"", pid=b"7\n")
    two, other_id = run(tmp_path, OTHER, cmd=b"#!/bin/sh\n", stdout=b"", stderr=b"warned\n")
    pack(tmp_path, {str(its_id): said(3), str(other_id): said(0, 7)})
    first = [
        {"run": one, "cmd.sh": "#!/bin/sh\n", "stdout.log": "é\n"},
        {"run": two, "cmd.sh": "#!/bin/sh\n", "stderr.log": "warned\n"},
    ]
    assert names(tmp_path) == {"runs.jsonl"}
    assert lines(tmp_path) == first

    again, its_id = run(tmp_path, HOOK, cmd=b"again")
    pack(tmp_path, {str(its_id): said(0)})
    assert lines(tmp_path) == [*first, {"run": again, "cmd.sh": "again"}]


def test_what_no_row_has_whole_stays_as_it_is(tmp_path: Path) -> None:
    _, unknown = run(tmp_path, HOOK, cmd=b"x", stdout=b"read by whoever resumes the page")
    _, longer = run(tmp_path, HOOK, stdout=b"x" * 5000)
    _, unread = run(tmp_path, HOOK, stdout=b"more than was read")
    _, no_text = run(tmp_path, HOOK, stdout=b"\xff")
    before = names(tmp_path)
    pack(tmp_path, {str(longer): said(5000), str(unread): said(4), str(no_text): said(1)})
    assert names(tmp_path) == before
    assert any(str(unknown) in name for name in before)


def test_a_seal_that_was_cut_short_is_finished_by_the_next(tmp_path: Path) -> None:
    name, its_id = run(tmp_path, HOOK, cmd=b"x", stdout=b"said")
    earlier = f'{{"run":"{name}","cmd.sh":"x","stdout.log":"said"}}\n'
    (tmp_path / "runs.jsonl").write_text(earlier)
    pack(tmp_path, {str(its_id): said(4)})
    assert names(tmp_path) == {"runs.jsonl"}
    assert (tmp_path / "runs.jsonl").read_text() == earlier


@pytest.mark.parametrize("kind", ["folder", "link"])
def test_where_a_hook_has_taken_its_place_nothing_is_packed(tmp_path: Path, kind: str) -> None:
    _, its_id = run(tmp_path, HOOK, cmd=b"x")
    place = tmp_path / "runs.jsonl"
    place.mkdir() if kind == "folder" else place.symlink_to("elsewhere")
    before = names(tmp_path)
    pack(tmp_path, {str(its_id): said(0)})
    assert names(tmp_path) == before


@pytest.mark.database
@pytest.mark.usefixtures("collection")
def test_only_runs_whose_end_is_in_the_database_are_on_record() -> None:
    page = snapshot()
    hook, other = Process.TypeChoices.HOOK, snapshot()
    ended = row(process_type=hook, snapshot_id=page.pk, status="exited", stdout_size=5)
    row(process_type=hook, snapshot_id=page.pk, status="running")
    row(process_type=hook, snapshot_id=other.pk, status="exited")
    assert sizes_on_record(page.pk) == {str(ended.pk): said(5)}


@pytest.mark.usefixtures("collection")
def test_odd_things_in_a_page_are_no_reason_to_call_its_folder_unusable(tmp_path: Path) -> None:
    for name in (".hooks", "empty", "full"):
        (tmp_path / name).mkdir()
    (tmp_path / ".hooks" / "gone.stdout.log").symlink_to("nowhere")
    (tmp_path / ".hooks" / "empty.stderr.log").touch()
    (tmp_path / ".hooks" / "said.stdout.log").write_text("said")
    (tmp_path / "full" / "page.html").write_text("page")
    (tmp_path / "link").symlink_to("empty")
    tidy(tmp_path, {}, 1_000)
    assert {path.name for path in tmp_path.iterdir()} == {".hooks", "full", "link"}
    assert {path.name for path in (tmp_path / ".hooks").iterdir()} == {"gone.stdout.log", "said.stdout.log"}
