"""RFC 3161, spoken with an authority on loopback; what it certified is verified without it."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from archivebox.core.evidence.timestamp import check_stamp, stamped_at
from tests.authority import Authority, authority

if TYPE_CHECKING:
    from tests.plugins_bundled.programs.conftest import Page

HASHES = "hashes/hashes.json"
DOCUMENT = Path(__file__).parents[3] / "docs" / "evidence.md"
STAMP = "timestamp/hashes.tsr"


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Authority]:
    with authority(tmp_path_factory.mktemp("authority")) as found:
        yield found


def test_a_stamp_is_kept_and_holds_for_these_hashes_by_an_authority_that_is_trusted(
    page: Page, asked: Authority, tmp_path: Path
) -> None:
    page.keep(HASHES, "{}")
    run = page.run("timestamp", "https://one.test/", TIMESTAMP_URL=asked.url)
    assert (run.status, run.files) == ("succeeded", ["hashes.tsr"]), run.result["output_str"]

    assert "Verification: OK" in verified_by_openssl(page.folder, asked.root)
    keys = tmp_path / "keys"
    with authority(tmp_path / "other") as other:
        keys.mkdir()
        assert said(page.folder, b"{}", keys) == (False, "put the root certificate of its authority into keys/.")
        shutil.copy(other.root, keys / "other.pem")
        assert said(page.folder, b"{}", keys)[0] is False
    shutil.copy(asked.root, keys / "time.pem")
    assert said(page.folder, b"{}", keys) == (True, "the hashes existed at that time.")
    assert said(page.folder, b"{ }", keys) == (False, "hashes/hashes.json was changed.")
    stamp = bytearray((page.folder / STAMP).read_bytes())
    assert run.result["output_json"]["stamped_at"] == stamped_at(bytes(stamp))
    stamp[-3] ^= 1
    (page.folder / STAMP).write_bytes(stamp)
    assert said(page.folder, b"{}", keys)[0] is False
    (page.folder / STAMP).write_text("x")
    assert said(page.folder, b"{}", keys) == (False, "timestamp/hashes.tsr was changed.")
    (page.folder / STAMP).unlink()
    assert check_stamp(page.folder, b"{}", keys) is None


def verified_by_openssl(folder: Path, root: Path) -> str:
    (command,) = re.findall(r"^    (openssl ts -verify .+)$", DOCUMENT.read_text(), re.MULTILINE)
    words = [str(root) if word == "root.pem" else word for word in command.split()]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True).stdout


def said(folder: Path, manifest: bytes, keys: Path) -> tuple[bool, str]:
    found = check_stamp(folder, manifest, keys)
    assert found
    return found.holds, found.sentence.partition(": ")[2]


@pytest.mark.parametrize(
    ("path", "outcome"),
    [
        ("/status/503", ("later", "it answers 503 Service Unavailable")),
        ("/status/404", ("failed", "it answers 404 Not Found")),
        ("/refused", ("failed", "it says REJECTION")),
        ("/nonsense", ("failed", "its answer is not a time stamp")),
    ],
)
def test_what_the_authority_says_is_told(page: Page, asked: Authority, path: str, outcome: tuple[str, str]) -> None:
    page.keep(HASHES, "{}")
    page.keep(STAMP, "of the hashes before")
    run = page.run("timestamp", "https://one.test/", TIMESTAMP_URL=asked.url + path)

    status, sentence = outcome
    assert (run.status, run.files) == (status, [])
    assert sentence in run.result["output_str"]


def test_an_authority_that_is_away_is_asked_later_and_none_at_all_is_said(page: Page) -> None:
    page.keep(HASHES, "{}")
    assert page.run("timestamp", "https://one.test/", TIMESTAMP_URL="http://127.0.0.1:9").status == "later"
    assert "TIMESTAMP_URL=" in page.run("timestamp", "https://one.test/").result["output_str"]
