"""Owns the signature over the hashes of a snapshot: in its folder, and saying whether it is valid."""

import hashlib
import json
import stat
from dataclasses import dataclass, fields
from pathlib import Path
from uuid import UUID

from archivebox.core.evidence.signer import MANIFEST, SIGNATURE, STATEMENT, Signer, Statement
from archivebox.lib.files import atomic_write, read_regular
from archivebox.machine.fleet_setting import refresh_public_keys

MANIFEST_SIZE = 256 * 1024 * 1024
"""Bytes of the longest list of hashes that is signed: that of a million files."""
STATEMENT_SIZE = 64 * 1024

UNSIGNED = "It is not signed. “Sign unsigned pages” in the Library does so, or `archivebox snapshot sign`."
UNKNOWN_KEY = "It is signed by a key that does not belong to this collection"
CONFIRM = "Anybody can create a key: put it into keys/ if its owner confirms it."
DOES_NOT_FIT = "The signature does not fit: signature.json or signature.sig was changed."


@dataclass(frozen=True, slots=True)
class Checked:
    """What came of a look at a signature; ``statement`` is None where there is none that can be read."""

    holds: bool
    sentence: str
    statement: Statement | None = None
    is_broken: bool = False
    """Whether it was valid once: what is signed, or the signature, was changed since."""


def is_unsigned(folder: Path) -> bool:
    """Whether there are hashes that wait for their signature."""
    return (folder / MANIFEST).exists() and not (folder / STATEMENT).exists()


def sign(folder: Path, keys: Path, snapshot_id: UUID, url: str) -> None:
    """Sign the hashes in ``folder``, with the key in ``keys``; KeyUnusableError, OSError if it cannot be."""
    signer = Signer(keys)
    mode = stat.S_IMODE((folder / MANIFEST).stat().st_mode)  # for those who may read the hashes
    manifest = read_regular(folder / MANIFEST, MANIFEST_SIZE)
    for name, content in signer.files(manifest, snapshot_id, url).items():
        atomic_write(folder / name, content, mode)


def check(folder: Path, manifest: bytes, snapshot_id: UUID, keys: Path) -> Checked:
    """Whether ``manifest`` is what was signed for this snapshot, by one of the public keys in ``keys``."""
    from archivebox.lib import signatures  # as above: a look at the evidence is rare

    try:
        data = read_regular(folder / STATEMENT, STATEMENT_SIZE)
        signature = read_regular(folder / SIGNATURE, STATEMENT_SIZE)
    except FileNotFoundError:
        return Checked(holds=False, sentence=UNSIGNED)
    except OSError as error:
        return Checked(holds=False, sentence=f"The signature cannot be read: {error.strerror}.", is_broken=True)
    said = read_statement(data)
    if said is None or not signatures.is_signed_by(said.public_key, signature, data):
        return Checked(holds=False, sentence=DOES_NOT_FIT, is_broken=True)
    if said.key_id != signatures.key_id(said.public_key):  # nobody borrows the name of another's key
        return Checked(holds=False, sentence=DOES_NOT_FIT, is_broken=True)
    if problem := _change_of(said, manifest, snapshot_id):
        return Checked(holds=False, sentence=problem, statement=said, is_broken=True)
    trusted = signatures.public_keys(keys)
    if said.public_key not in trusted:
        refresh_public_keys()
        trusted = signatures.public_keys(keys)
    if said.public_key not in trusted:
        return Checked(holds=False, sentence=f"{UNKNOWN_KEY} ({said.key_id}). {CONFIRM}", statement=said)
    sentence = f"The signature of {said.signed_at} by this collection's key {said.key_id} is valid."
    return Checked(holds=True, sentence=sentence, statement=said)


def _change_of(said: Statement, manifest: bytes, snapshot_id: UUID) -> str:
    """What is wrong although the signature is that of its statement."""
    if said.snapshot != str(snapshot_id):
        return f"The signature is that of another page: {said.url}."
    if said.sha256 != hashlib.sha256(manifest).hexdigest():
        return f"The list of hashes is not the one that was signed: {MANIFEST} was changed after {said.signed_at}."
    return ""


def read_statement(data: bytes) -> Statement | None:
    """What a signature.json says; None for what is none."""
    try:
        document = json.loads(data)
        return Statement(**{field.name: str(document[field.name]) for field in fields(Statement)})
    except (ValueError, KeyError, TypeError):
        return None
