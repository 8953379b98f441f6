"""Owns signing the hashes of a snapshot. It needs no Django: programs import it that write pages."""

import hashlib
import json
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

MANIFEST = "hashes/hashes.json"
"""What the plugin that hashes leaves in the folder of a snapshot; the signature lies beside it."""
STATEMENT = "hashes/signature.json"
"""What is signed, to the byte. Written last: while it is not there, the hashes are not signed."""
SIGNATURE = "hashes/signature.sig"
PUBLIC_KEY = "hashes/signature.pem"

_quoted = json.JSONEncoder(ensure_ascii=False).encode


class KeyUnusableError(Exception):
    """A key that cannot be read, or made; the message says which, and why."""


@dataclass(frozen=True, slots=True)
class Statement:
    """What the signature says: this list of hashes was made of this page, and was here at this time."""

    algorithm: str
    key_id: str
    public_key: str
    file: str
    sha256: str
    snapshot: str
    url: str
    signed_at: str


_NAMES = tuple(field.name for field in fields(Statement))


class Signer:
    """Signs hashes with the key in the folder ``keys``, which is read once; KeyUnusableError if it cannot be."""

    def __init__(self, keys: Path) -> None:
        from archivebox.lib import signatures  # cryptography costs 30 ms, which most commands and pages need not pay

        try:
            self._key = signatures.signing_key(keys)
        except (OSError, ValueError) as error:
            raise KeyUnusableError(f"{keys / signatures.SIGNING_KEY}: {error}") from error
        self._public = signatures.public_pem(self._key)
        self._known = {"algorithm": signatures.ALGORITHM, "key_id": signatures.key_id(self._public)}

    def files(self, manifest: bytes, snapshot_id: UUID, url: str) -> dict[str, bytes]:
        """Path in the snapshot's folder → content, in the order in which they are to be written."""
        statement = Statement(
            **self._known,
            public_key=self._public,
            file=Path(MANIFEST).name,
            sha256=hashlib.sha256(manifest).hexdigest(),
            snapshot=str(snapshot_id),
            url=url,
            signed_at=datetime.now(UTC).isoformat(timespec="seconds"),
        )
        lines = ",\n".join(f' "{name}": {_quoted(getattr(statement, name))}' for name in _NAMES)
        data = f"{{\n{lines}\n}}\n".encode()  # as json with an indent of 1 has it, in a tenth of the time
        return {PUBLIC_KEY: self._public.encode(), SIGNATURE: self._key.sign(data), STATEMENT: data}
