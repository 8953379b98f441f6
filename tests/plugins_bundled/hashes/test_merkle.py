"""The hash tree, against the RFC's own words, and over real files."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from archivebox.plugins.base.hash_tree import (
    Manifest,
    build_manifest,
    build_tree,
    leaf_hash,
    mimetype_of,
    root_of,
)

HOOK = Path(__file__).parents[3] / "archivebox" / "plugins" / "hashes" / "on_Snapshot__93_hashes.py"


def tree_of_the_rfc(leaves: Sequence[bytes]) -> bytes:
    """MTH(D[n]) as RFC 9162 2.1.1 defines it, by recursion, over leaves that are hashed already."""
    if not leaves:
        return hashlib.sha256().digest()
    if len(leaves) == 1:
        return leaves[0]
    split = 1 << (len(leaves) - 1).bit_length() - 1
    return hashlib.sha256(b"\x01" + tree_of_the_rfc(leaves[:split]) + tree_of_the_rfc(leaves[split:])).digest()


@pytest.mark.parametrize("count", [*range(18), 31, 32, 33, 100, 1000])
def test_the_tree_is_that_of_the_rfc(count: int) -> None:
    leaves = [hashlib.sha256(bytes([0]) + str(number).encode()).digest() for number in range(count)]

    assert root_of(build_tree(leaves)) == tree_of_the_rfc(leaves)


def test_the_known_roots_of_certificate_transparency() -> None:
    """The first two test vectors of the reference implementation: no entry, and one empty entry."""
    assert root_of([]).hex() == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    empty_leaf = hashlib.sha256(b"\x00").digest()
    assert root_of(build_tree([empty_leaf])).hex() == "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    snapshot = tmp_path / "snapshot"
    (snapshot / "dom").mkdir(parents=True)
    (snapshot / "wget" / "warc").mkdir(parents=True)
    (snapshot / ".hooks").mkdir()
    (snapshot / "dom" / "output.html").write_text("<h1>Kept</h1>")
    (snapshot / "wget" / "warc" / "x.warc.gz").write_bytes(bytes(range(256)) * 9000)
    (snapshot / "wget" / "empty").touch()
    (snapshot / "wget" / "ünï 日本 .txt").write_text("name")
    (snapshot / ".hooks" / "on_x.stdout.log").write_text("log")
    return snapshot


EXCLUDED = (".hooks", "hashes")


def test_every_file_is_listed_with_hash_size_and_type(folder: Path) -> None:
    files = build_manifest(folder, EXCLUDED)["files"]

    assert list(files) == ["dom/output.html", "wget/empty", "wget/warc/x.warc.gz", "wget/ünï 日本 .txt"]
    assert files["dom/output.html"] == {
        "sha256": hashlib.sha256(b"<h1>Kept</h1>").hexdigest(),
        "size": 13,
        "mimetype": "text/html",
        "programs": [],
    }
    assert files["wget/warc/x.warc.gz"]["mimetype"] == "application/warc"
    assert files["wget/empty"]["size"] == 0


def test_the_same_files_give_the_same_manifest_in_whatever_order_they_were_made(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    for path in sorted((path for path in folder.rglob("*") if path.is_file()), reverse=True):
        target = other / path.relative_to(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)

    assert json.dumps(build_manifest(other, EXCLUDED)) == json.dumps(build_manifest(folder, EXCLUDED))


def change_byte(folder: Path) -> None:
    path = folder / "wget" / "warc" / "x.warc.gz"
    data = bytearray(path.read_bytes())
    data[1_500_000] ^= 1
    path.write_bytes(data)


def add_byte(folder: Path) -> None:
    with (folder / "dom" / "output.html").open("ab") as file:
        file.write(b"\n")


def drop_byte(folder: Path) -> None:
    os.truncate(folder / "wget" / "warc" / "x.warc.gz", 2_303_999)


def remove(folder: Path) -> None:
    (folder / "wget" / "empty").unlink()


def add(folder: Path) -> None:
    (folder / "wget" / "more").touch()


def rename(folder: Path) -> None:
    (folder / "wget" / "empty").rename(folder / "wget" / "full")


def swap(folder: Path) -> None:
    one, other = folder / "dom" / "output.html", folder / "wget" / "ünï 日本 .txt"
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)


def point_elsewhere(folder: Path) -> None:
    (folder / "wget" / "empty").unlink()
    (folder / "wget" / "empty").symlink_to("ünï 日本 .txt")


@pytest.mark.parametrize(
    ("change", "changed", "missing", "added"),
    [
        (change_byte, ("wget/warc/x.warc.gz",), (), ()),
        (add_byte, ("dom/output.html",), (), ()),
        (drop_byte, ("wget/warc/x.warc.gz",), (), ()),
        (remove, (), ("wget/empty",), ()),
        (add, (), (), ("wget/more",)),
        (rename, (), ("wget/empty",), ("wget/full",)),
        (swap, ("dom/output.html", "wget/ünï 日本 .txt"), (), ()),
        (point_elsewhere, ("wget/empty",), (), ()),
    ],
)
def test_every_change_is_found(
    folder: Path,
    change: Callable[[Path], None],
    changed: tuple[str, ...],
    missing: tuple[str, ...],
    added: tuple[str, ...],
) -> None:
    before = build_manifest(folder, EXCLUDED)
    assert build_manifest(folder, EXCLUDED) == before

    change(folder)

    now, then = (after := build_manifest(folder, EXCLUDED))["files"], before["files"]
    assert tuple(name for name in then if name in now and now[name] != then[name]) == changed
    assert (tuple(then.keys() - now.keys()), tuple(now.keys() - then.keys())) == (missing, added)
    assert after["root_hash"] != before["root_hash"]


def test_links_are_kept_as_links_and_never_followed(folder: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_text("not ours")
    (folder / "out").symlink_to(secret)
    (folder / "loop").symlink_to(".")

    files = build_manifest(folder, EXCLUDED)["files"]

    assert "out/key" not in files
    assert files["out"]["mimetype"] == "inode/symlink"
    assert files["loop"] == {
        "sha256": hashlib.sha256(b".").hexdigest(),
        "size": 1,
        "mimetype": "inode/symlink",
        "programs": [],
    }


def test_pipes_are_left_out_and_do_not_stop_it(folder: Path) -> None:
    os.mkfifo(folder / "pipe")

    assert "pipe" not in build_manifest(folder, EXCLUDED)["files"]


def test_names_that_are_no_unicode_are_hashed_by_their_bytes(folder: Path, tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff.bin")).write_bytes(b"x")
    manifest = build_manifest(folder, EXCLUDED)
    (tmp_path / "hashes.json").write_text(json.dumps(manifest))

    again = json.loads((tmp_path / "hashes.json").read_text())

    assert again == build_manifest(folder, EXCLUDED)
    assert list(again["files"])[-1] == "\udcff.bin"
    file_hash = hashlib.sha256(b"x")
    leaf = hashlib.sha256(b"\x00\xff.bin\x00" + file_hash.digest()).digest()
    assert leaf_hash("\udcff.bin", file_hash.hexdigest()) == leaf


def test_an_empty_folder_has_the_root_of_nothing(tmp_path: Path) -> None:
    manifest = build_manifest(tmp_path)

    assert manifest == Manifest(root_hash=hashlib.sha256(b"").hexdigest(), files={}, tree=[])


@pytest.mark.parametrize(
    ("name", "mimetype"),
    [
        ("a/b.html", "text/html"),
        ("x.warc.gz", "application/warc"),
        ("x.tar.gz", "application/gzip"),
        ("urls.jsonl", "application/x-ndjson"),
        ("x.webp", "image/webp"),
        ("nothing", "application/octet-stream"),
    ],
)
def test_types_are_by_name(name: str, mimetype: str) -> None:
    assert mimetype_of(name) == mimetype


def run_hook(folder: Path) -> SimpleNamespace:
    own = folder / "hashes"
    own.mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, str(HOOK), "--snapshot-id=x"], cwd=own, capture_output=True, text=True, check=True, env={}
    )
    return SimpleNamespace(record=json.loads(done.stdout), manifest=json.loads((own / "hashes.json").read_text()))


def test_the_hook_writes_the_manifest_and_is_repeatable(folder: Path) -> None:
    first = run_hook(folder)
    signature = folder / "hashes" / "signature.json"
    signature.write_text("of the first")
    second = run_hook(folder)
    assert not signature.exists(), "it speaks of other hashes"

    manifest: Manifest = first.manifest
    assert manifest == second.manifest == build_manifest(folder, EXCLUDED)
    assert first.record["status"] == "succeeded"
    assert first.record["output_str"] == "hashes.json"
    assert first.record["output_json"] == {
        "root_hash": manifest["root_hash"],
        "files": 4,
        "bytes": 13 + 2_304_000 + 4,
    }


def test_each_file_names_the_hooks_that_write_into_its_folder(folder: Path) -> None:
    runs = ["dom/on_Snapshot__53_dom.py.1", "dom/on_Snapshot__53_dom.py.2", "wget/on_Snapshot__61_wget.finite.bg.py.3"]
    for plugin, run in (name.split("/") for name in [*runs, "wget/on_Snapshot__62_x.sh.4"]):
        (folder / ".hooks" / f"{run}.cmd.sh").write_text(f"#!/bin/sh\ncd '/with a blank/{plugin}'\n/bin/x\n")
    earlier = {"run": "on_Snapshot__40_x.sh.5", "cmd.sh": "#!/bin/sh\ncd /elsewhere/dom\n/bin/x\n"}
    (folder / ".hooks" / "runs.jsonl").write_text(json.dumps(earlier) + "\n" + json.dumps({"run": "y.sh.6"}) + "\n")
    files = run_hook(folder).manifest["files"]
    assert files["dom/output.html"]["programs"] == ["dom/on_Snapshot__40_x.sh", "dom/on_Snapshot__53_dom.py"]
    assert files["wget/empty"]["programs"] == ["wget/on_Snapshot__61_wget.finite.bg.py", "wget/on_Snapshot__62_x.sh"]
