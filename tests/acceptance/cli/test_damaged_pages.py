"""Of many archived pages those that somebody has damaged are named by every command that looks, and no others."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path

import pytest

from tests.acceptance.cli.conftest import Type

pytestmark = pytest.mark.slow

PAGES = 200
HOST = re.compile(r"host-[0-9]+\.test")
OUTPUTS = {"x-outputs": [{"role": "text", "file": "*.txt"}]}
HOOK = r"""#!/bin/sh
for word in "$@"; do case "$word" in --url=*) url=${word#--url=} ;; esac; done
echo "said by $url" > said.txt
ln -s said.txt link
block="said by $url"
printf 'WARC/1.1\r\nWARC-Type: resource\r\nWARC-Record-ID: <urn:%s>\r\nWARC-Target-URI: %s\r\n' "$url" "$url" > all
printf 'WARC-Date: 2026-01-02T03:04:05Z\r\nContent-Type: text/plain\r\nContent-Length: %s\r\n\r\n' "${#block}" >> all
printf '%s\r\n\r\n' "$block" >> all
gzip -n all && mv all.gz all.warc.gz
"""


def change_byte(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def replace_by_link(path: Path, target: str) -> None:
    path.unlink()
    path.symlink_to(target)


def replace_by_file(path: Path) -> None:
    path.unlink()
    path.write_text("said")


def replace_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def rewrite_with_its_hash(page: Path) -> None:
    (page / "tiny/said.txt").write_text("another")
    listed = json.loads((page / "hashes/hashes.json").read_text())
    listed["files"]["tiny/said.txt"] |= {"size": 7, "sha256": sha256(b"another").hexdigest()}
    (page / "hashes/hashes.json").write_text(json.dumps(listed, indent=1) + "\n")


def empty(page: Path) -> None:
    shutil.rmtree(page)
    page.mkdir()


def replace_by_another_page(page: Path) -> None:
    another = next(path for path in page.parents[1].glob("*/*") if path != page and whole(path))
    shutil.rmtree(page)
    shutil.copytree(another, page, symlinks=True)


def whole(page: Path) -> bool:
    names = ("hashes/hashes.json", "hashes/signature.sig", "tiny/said.txt", "tiny/link", "tiny/all.warc.gz")
    return all((page / name).exists() for name in names)


def hosts(sentences: Iterable[str]) -> set[str]:
    """Those that sentences begin with: one may go on to name another page."""
    return {found[0] for sentence in sentences if (found := HOST.findall(sentence))}


DAMAGES: dict[str, Callable[[Path], object]] = {
    "a file was deleted": lambda page: (page / "tiny/said.txt").unlink(),
    "a file was cut": lambda page: (page / "tiny/said.txt").write_text("said"),
    "a file is longer": lambda page: (page / "tiny/said.txt").write_text("said" * 100),
    "a file of the same size has another byte": lambda page: change_byte(page / "tiny/said.txt", 3),
    "a file is a folder": lambda page: replace_by_folder(page / "tiny/said.txt"),
    "a file is a link": lambda page: replace_by_link(page / "tiny/said.txt", "all.warc.gz"),
    "a link was deleted": lambda page: (page / "tiny/link").unlink(),
    "a link leads elsewhere": lambda page: replace_by_link(page / "tiny/link", "all.warc.gz"),
    "a link is a file": lambda page: replace_by_file(page / "tiny/link"),
    "a record of a WARC has another byte": lambda page: change_byte(page / "tiny/all.warc.gz", 40),
    "a WARC was deleted": lambda page: (page / "tiny/all.warc.gz").unlink(),
    "the folder of a plugin was deleted": lambda page: shutil.rmtree(page / "tiny"),
    "the list of hashes was deleted": lambda page: (page / "hashes/hashes.json").unlink(),
    "the list of hashes was deleted with its signature": lambda page: shutil.rmtree(page / "hashes"),
    "the list of hashes is none": lambda page: (page / "hashes/hashes.json").write_text("garbage"),
    "a file was rewritten with its hash": rewrite_with_its_hash,
    "the signature has another byte": lambda page: change_byte(page / "hashes/signature.sig", 5),
    "the folder of the page was deleted": shutil.rmtree,
    "the folder of the page was emptied": empty,
    "the folder of the page was replaced by that of another": replace_by_another_page,
}


@pytest.fixture
def pages(cli: Type, collection: Path) -> list[Path]:
    """The folders of pages, by their key."""
    hook = collection / "plugins" / "tiny" / "on_Snapshot__50_tiny.sh"
    hook.parent.mkdir(parents=True)
    hook.write_text(HOOK)
    hook.chmod(0o755)
    (hook.parent / "config.json").write_text(json.dumps(OUTPUTS))
    urls = [f"http://host-{number:03}.test/" for number in range(PAGES)]  # one after the other of one host
    for start in range(0, PAGES, 50):
        done = cli("add", "--plugins=tiny,hashes", *urls[start : start + 50])
        assert done.code == 0, done.err
    found = sorted(collection.glob("users/*/snapshots/*/*/*"))
    assert len(found) == PAGES
    assert all(map(whole, found))
    return found


def test_of_200_pages_the_20_damaged_ones_are_named_and_no_others(cli: Type, pages: list[Path], tmp_path: Path) -> None:
    assert cli("backup", str(tmp_path / "before")).code == 0
    assert not [one for one in cli("doctor").records if one["name"] == "pages" and one["state"] != "ok"]

    damaged = dict(zip(pages[:: PAGES // len(DAMAGES)], DAMAGES, strict=True))
    for page, way in damaged.items():
        DAMAGES[way](page)
    ways = {page.parent.name: way for page, way in damaged.items()}

    def mistakes(named: set[str]) -> list[str]:
        """Damages that were passed over, and pages that are whole."""
        return [*(way for host, way in ways.items() if host not in named), *sorted(named - ways.keys())]

    done = cli("snapshot", "verify", *(page.name for page in pages))
    assert (done.code, len(done.records)) == (1, PAGES)
    assert mistakes(hosts(str(one["url"]) for one in done.records if not one["is_whole"])) == []
    looked = [one for one in cli("doctor").records if one["name"] == "pages" and one["state"] == "error"]
    assert mistakes(hosts(str(one["sentence"]) for one in looked)) == []
    for destination in ("before", "after"):
        made = cli("backup", str(tmp_path / destination))
        assert (made.code, mistakes(hosts(json.dumps(made.record["damaged"], indent=1).splitlines()))) == (3, [])
    for format_ in ("zip", "warc", "wacz", "site", "archivebox"):
        done = cli("export", "--all", f"--format={format_}", "--output", str(tmp_path / f"all.{format_}"))
        assert (done.code, mistakes(hosts(done.err.splitlines()))) == (0, []), format_
