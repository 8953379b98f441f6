"""A signature holds for the hashes it was made of, for that page, by a key of the collection, and for nothing else."""

import hashlib
import json
import re
import shutil
import subprocess
import uuid
from dataclasses import asdict
from pathlib import Path

import pytest

from archivebox.core.evidence.signature import DOES_NOT_FIT, UNSIGNED, Checked, check, is_unsigned, read_statement, sign
from archivebox.core.evidence.signer import MANIFEST, PUBLIC_KEY, SIGNATURE, STATEMENT, KeyUnusableError
from archivebox.lib.signatures import SIGNING_KEY, key_id, public_keys, signing_key

PAGE = uuid.UUID(int=7)
URL = "https://one.example/ü?a=1"
DOCUMENT = Path(__file__).parents[3] / "docs" / "evidence.md"


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    return tmp_path / "keys"


@pytest.fixture
def folder(tmp_path: Path, keys: Path) -> Path:
    """A page whose hashes are signed."""
    made = tmp_path / "page"
    (made / "hashes").mkdir(parents=True)
    (made / "words.txt").write_text("words")
    digest = hashlib.sha256(b"words").hexdigest()
    (made / MANIFEST).write_text(json.dumps({"files": {"words.txt": {"sha256": digest}}}))
    sign(made, keys, PAGE, URL)
    return made


def checked(folder: Path, keys: Path, page: uuid.UUID = PAGE) -> Checked:
    return check(folder, (folder / MANIFEST).read_bytes(), page, keys)


def test_what_was_signed_holds_and_says_by_which_key_and_when(folder: Path, keys: Path) -> None:
    found = checked(folder, keys)
    assert found.holds
    assert found.statement
    assert found.statement.url == URL
    assert found.statement.key_id in found.sentence
    assert found.statement.signed_at in found.sentence
    assert found.statement.public_key == (folder / PUBLIC_KEY).read_text()
    assert not is_unsigned(folder)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [(MANIFEST, "hashes.json was changed after"), (STATEMENT, DOES_NOT_FIT), (SIGNATURE, DOES_NOT_FIT)],
)
def test_one_other_byte_is_said_for_what_it_is(folder: Path, keys: Path, name: str, sentence: str) -> None:
    data = bytearray((folder / name).read_bytes())
    data[-3] ^= 1
    (folder / name).write_bytes(data)
    found = checked(folder, keys)
    assert (found.holds, sentence in found.sentence) == (False, True)


def test_hashes_without_a_signature_are_unsigned(folder: Path, keys: Path) -> None:
    (folder / STATEMENT).unlink()
    assert is_unsigned(folder)
    assert checked(folder, keys) == Checked(holds=False, sentence=UNSIGNED)


def test_a_key_that_is_not_the_collections_is_named_until_it_is_put_beside_its_own(
    folder: Path, keys: Path, tmp_path: Path
) -> None:
    signing_key(tmp_path / "own")
    found = checked(folder, tmp_path / "own")
    assert not found.holds
    assert "does not belong to this collection" in found.sentence
    shutil.copy(folder / PUBLIC_KEY, tmp_path / "own" / "theirs.pem")
    assert checked(folder, tmp_path / "own").holds
    assert "another page" in checked(folder, keys, uuid.UUID(int=8)).sentence


def test_after_a_change_of_keys_what_the_old_one_signed_still_holds(folder: Path, keys: Path, tmp_path: Path) -> None:
    (keys / SIGNING_KEY).unlink()
    (tmp_path / "new" / "hashes").mkdir(parents=True)
    shutil.copy(folder / MANIFEST, tmp_path / "new" / MANIFEST)
    sign(tmp_path / "new", keys, PAGE, URL)
    old, new = checked(folder, keys), checked(tmp_path / "new", keys)
    assert old.holds
    assert new.holds
    assert old.statement
    assert new.statement
    assert old.statement.key_id != new.statement.key_id


def test_the_key_is_its_owners_alone_and_one_that_cannot_be_read_is_said_and_left(keys: Path, folder: Path) -> None:
    private = keys / SIGNING_KEY
    assert (keys.stat().st_mode & 0o777, private.stat().st_mode & 0o777) == (0o700, 0o600)
    assert "PRIVATE" not in "".join(public_keys(keys))
    private.write_text("no key")
    with pytest.raises(KeyUnusableError, match=SIGNING_KEY):
        sign(folder, keys, PAGE, URL)
    assert private.read_text() == "no key"


def test_a_statement_is_json_of_one_field_a_line(folder: Path) -> None:
    data = (folder / STATEMENT).read_bytes()
    said = read_statement(data)
    assert said is not None
    assert data.decode() == json.dumps(asdict(said), ensure_ascii=False, indent=1) + "\n"


def test_what_is_no_statement_is_none() -> None:
    for data in (b"", b"[]", b"{}", b"\xff", b"null"):
        assert read_statement(data) is None


def test_a_stranger_verifies_it_with_openssl_as_the_document_says(folder: Path) -> None:
    section = DOCUMENT.read_text().partition("## Verify without ArchiveBox")[2]
    commands = re.findall(r"^    (.+)$", section, re.MULTILINE)
    signature, key, digest = (
        next(line for line in commands if word in line) for word in ("-verify", "DER", "-sha256 h")
    )
    files = next(line for line in commands if "--check" in line)
    where = folder / "hashes"
    statement = json.loads((folder / STATEMENT).read_text())

    assert "Verified Successfully" in told(signature, where)
    assert told(key, where).split()[-1][:32] == statement["key_id"] == key_id((folder / PUBLIC_KEY).read_text())
    assert told(digest, where).split()[-1] == statement["sha256"]
    assert told(files, folder) == ""
    (folder / "words.txt").write_text("other")
    assert told(files, folder) == "words.txt: FAILED\n"
    (folder / STATEMENT).write_bytes((folder / STATEMENT).read_bytes() + b" ")
    assert "Verified Successfully" not in told(signature, where)


def told(command: str, folder: Path) -> str:
    done = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout
