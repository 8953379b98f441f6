"""Owns the secrets that all machines of a collection have in common: its database has them, each folder a copy."""

import base64
import hmac
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from archivebox.config.keys import make_secret_key
from archivebox.lib.files import atomic_write
from archivebox.storage.layout import DataFolder

_TABLE = "machine_sharedsecret"
_SECRET_KEY, _SIGNING_KEY, _PUBLIC_KEY = "secret-key", "signing-key", "public-key "


class SharedSecretError(Exception):
    """The secrets of the collection cannot be read here; the message says what to do."""


class SqlCursor(Protocol):
    """What Django's cursors and psycopg's have in common."""

    def execute(self, query: Any, params: Any = None, /) -> object: ...

    def fetchall(self) -> list[Any]: ...


class _Row(NamedTuple):
    name: str
    content: str
    is_encrypted: bool


def has_shared_secrets(folder: DataFolder) -> bool:
    """Whether this folder has its copies, which it took with the SECRET_KEY that the environment has now."""
    has_copies = folder.secret_key.exists() and _signing_key_path(folder).exists()
    return has_copies and _read_fingerprint(folder) == _fingerprint()


def share_secrets(folder: DataFolder, cursor: SqlCursor) -> None:
    """Copy the secrets of the collection into ``folder``, and give the database those of ``folder`` that it has not.

    The database wins: of two machines that come first at once, one takes over the keys of the other. Nothing happens
    where an older version has made the database. SharedSecretError where the rows are encrypted with another key.
    """
    cursor.execute("SELECT to_regclass(%s) IS NOT NULL", [_TABLE])
    if not cursor.fetchall()[0][0]:
        return
    known = _read(cursor)
    _write_copies(folder, known)
    offered = dict(_contents(folder))
    _insert(cursor, {name: content for name, content in offered.items() if name not in known})
    _write_copies(folder, _read(cursor))
    atomic_write(folder.secret_key_fingerprint, _fingerprint(), 0o600)


def share_public_keys(folder: DataFolder, cursor: SqlCursor) -> None:
    """Give the database the public keys of ``folder`` that it has not, and ``folder`` those of other machines.

    They are named by their digests, whatever somebody called the file; what is no such key is left where it is.
    """
    from archivebox.lib.signatures import key_id, public_keys  # as above

    here: dict[str, str] = {}
    for pem in public_keys(folder.keys):
        with suppress(ValueError):
            here[_PUBLIC_KEY + key_id(pem)] = pem
    cursor.execute(f"SELECT name FROM {_TABLE} WHERE name LIKE %s", [f"{_PUBLIC_KEY}%"])  # noqa: S608 - a constant
    known = {name for (name,) in cursor.fetchall()}
    _insert(cursor, {name: pem for name, pem in here.items() if name not in known})
    if missing := sorted(known - here.keys()):
        cursor.execute(f"SELECT name, content FROM {_TABLE} WHERE name = ANY(%s)", [missing])  # noqa: S608 - a constant
        _write_copies(folder, dict(cursor.fetchall()))


def _read(cursor: SqlCursor) -> dict[str, str]:
    cursor.execute(f"SELECT name, content, is_encrypted FROM {_TABLE}")  # noqa: S608 - a constant
    rows = [_Row(*row) for row in cursor.fetchall()]
    return {row.name: decrypt(row.name, row.content) if row.is_encrypted else row.content for row in rows}


def _insert(cursor: SqlCursor, contents: Mapping[str, str]) -> None:
    query = f"INSERT INTO {_TABLE} (name, content, is_encrypted) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING"  # noqa: S608 - a constant
    for name, content in contents.items():
        is_encrypted = may_encrypt() and not name.startswith(_PUBLIC_KEY)
        cursor.execute(query, [name, encrypt(content) if is_encrypted else content, is_encrypted])


def _write_copies(folder: DataFolder, contents: Mapping[str, str]) -> None:
    """What is there already stays untouched, so that no other process finds it half changed."""
    for name, content in contents.items():
        path = _path(folder, name)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        if not path.exists() or path.read_text() != content:
            atomic_write(path, content, 0o600, durable=True)


def _contents(folder: DataFolder) -> Iterator[tuple[str, str]]:
    """The secrets of this folder by name, made where there are none, and every public key that has signed here."""
    from archivebox.lib.signatures import SIGNING_KEY, signing_key  # cryptography costs 30 ms

    make_secret_key(folder)
    signing_key(folder.keys)
    yield _SECRET_KEY, folder.secret_key.read_text()
    yield _SIGNING_KEY, _signing_key_path(folder).read_text()
    for path in folder.keys.glob("*.pem"):
        if path.name != SIGNING_KEY:
            yield _PUBLIC_KEY + path.stem, path.read_text()


def _path(folder: DataFolder, name: str) -> Path:
    if name == _SECRET_KEY:
        return folder.secret_key
    if name == _SIGNING_KEY:
        return _signing_key_path(folder)
    return folder.keys / f"{Path(name.removeprefix(_PUBLIC_KEY)).name}.pem"


def _signing_key_path(folder: DataFolder) -> Path:
    return folder.keys / "signing-key.pem"  # signatures.SIGNING_KEY; its import costs 30 ms


def _passphrase() -> str:
    return os.environ.get("SECRET_KEY", "")


def _fingerprint() -> str:
    """What tells whether SECRET_KEY has changed, and nothing else about it."""
    return hmac.digest(_passphrase().encode(), b"archivebox.fingerprint", "sha256").hex()


def _read_fingerprint(folder: DataFolder) -> str:
    with suppress(FileNotFoundError):
        return folder.secret_key_fingerprint.read_text()
    return ""


def _fernet() -> Any:
    from cryptography.fernet import Fernet  # as above

    key = hmac.digest(_passphrase().encode(), b"archivebox.shared_secrets", "sha256")
    return Fernet(base64.urlsafe_b64encode(key))


def may_encrypt() -> bool:
    """Whether there is a key to encrypt with, which is not in the database."""
    return bool(_passphrase())


def encrypt(content: str) -> str:
    """For a row of the database; to be asked for where there is a key."""
    encrypted: bytes = _fernet().encrypt(content.encode())
    return encrypted.decode()


def decrypt(name: str, content: str) -> str:
    """What was encrypted as ``name``. SharedSecretError without the key."""
    from cryptography.fernet import InvalidToken  # as above

    if not _passphrase():
        raise SharedSecretError(
            "The keys of this collection are encrypted in its database. Set SECRET_KEY in the environment of this "
            "machine as on the others."
        )
    try:
        decrypted: bytes = _fernet().decrypt(content)
    except InvalidToken:
        raise SharedSecretError(
            f"The {name} of this collection was encrypted with another SECRET_KEY. Set the one of the machines "
            "that work; docs/fleet.md says how to replace it."
        ) from None
    return decrypted.decode()
