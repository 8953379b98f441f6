"""A look at the files finds what is not as it was hashed."""

import hashlib
import os
from pathlib import Path

from archivebox.core.evidence.verification import DigestCache, verify
from archivebox.lib.jsonl import JSON


def manifest(**files: bytes) -> JSON:
    return {"files": {name: {"sha256": hashlib.sha256(data).hexdigest()} for name, data in files.items()}}


def test_what_changed_and_what_is_gone_is_named(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a")
    (tmp_path / "b").write_bytes(b"another")

    found = verify(tmp_path, manifest(a=b"a", b=b"b", c=b"c"))
    assert (found.same, found.changed, found.missing, found.is_whole) == (1, ["b"], ["c"], False)
    assert verify(tmp_path, manifest(a=b"a")).is_whole


def test_nothing_outside_of_the_folder_and_no_pipe_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "snapshot"
    folder.mkdir()
    (tmp_path / "secret").write_bytes(b"secret")
    os.mkfifo(folder / "pipe")
    (folder / "link").symlink_to("../secret")

    given = manifest(**{"../secret": b"secret", str(tmp_path / "secret"): b"secret", "pipe": b"", "link": b"../secret"})
    found = verify(folder, given)
    assert (found.same, sorted(found.missing)) == (1, sorted(["../secret", str(tmp_path / "secret"), "pipe"]))


def test_a_file_that_two_pages_share_is_read_once(tmp_path: Path) -> None:
    """What is done to it between two looks of one run, with its time put back, is seen by the next run alone."""
    for page in ("first", "second"):
        (tmp_path / page).mkdir()
    shared = tmp_path / "first" / "a"
    shared.write_bytes(b"a")
    os.link(shared, tmp_path / "second" / "a")
    time, digests = shared.stat().st_mtime_ns, DigestCache()
    assert verify(tmp_path / "first", manifest(a=b"a"), digests=digests).is_whole
    shared.write_bytes(b"b")
    os.utime(shared, ns=(time, time))
    assert verify(tmp_path / "second", manifest(a=b"a"), digests=digests).is_whole
    assert verify(tmp_path / "second", manifest(a=b"a")).changed == ["a"]
    (tmp_path / "first" / "a").unlink()
    assert verify(tmp_path / "second", manifest(a=b"a"), digests=digests).changed == ["a"], "only links are remembered"


def test_damage_of_a_shared_file_is_found_in_every_page_that_has_it(tmp_path: Path) -> None:
    for page in ("first", "second", "third"):
        (tmp_path / page).mkdir()
    shared = tmp_path / "first" / "a"
    shared.write_bytes(b"damaged")
    for page in ("second", "third"):
        os.link(shared, tmp_path / page / "a")
    digests = DigestCache()
    found = [verify(tmp_path / page, manifest(a=b"a"), digests=digests) for page in ("first", "second", "third")]
    assert [one.changed for one in found] == [["a"]] * 3


def test_when_the_time_is_over_the_rest_is_said_to_be_unseen(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a")

    found = verify(tmp_path, manifest(a=b"a"), seconds=-1)
    assert (found.unseen, found.is_whole) == (1, False)


def test_what_is_no_manifest_has_no_files(tmp_path: Path) -> None:
    nothings: list[JSON] = [None, [], "x", {"files": []}, {"files": {"a": 1}}]
    for given in nothings:
        assert verify(tmp_path, given).is_whole
