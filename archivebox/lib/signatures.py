"""Owns Ed25519 keys and signatures (RFC 8032), as files that openssl reads."""

import hashlib
from contextlib import suppress
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from archivebox.lib.files import atomic_write, locked

ALGORITHM = "Ed25519"
SIGNING_KEY = "signing-key.pem"
"""The one private key among the public ones; without it, the next signature makes another."""


def signing_key(folder: Path) -> Ed25519PrivateKey:
    """The key that this folder's owner signs with: made on first use, 0600, and its public half beside it for good.

    OSError or ValueError for one that cannot be read, or made.
    """
    key = _read_or_make(folder)
    public = public_pem(key)
    path = folder / f"{key_id(public)}.pem"
    if not path.exists():
        atomic_write(path, public, 0o600, durable=True)
    return key


def _read_or_make(folder: Path) -> Ed25519PrivateKey:
    path = folder / SIGNING_KEY
    with suppress(FileNotFoundError):
        return _private_key(path.read_bytes())
    folder.mkdir(mode=0o700, exist_ok=True)
    with locked(folder):
        if not path.exists():
            made = Ed25519PrivateKey.generate()
            data = made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
            atomic_write(path, data, 0o600, durable=True)
    return _private_key(path.read_bytes())


def _private_key(data: bytes) -> Ed25519PrivateKey:
    try:
        key = load_pem_private_key(data, password=None)
    except (TypeError, UnsupportedAlgorithm) as error:
        raise ValueError(str(error)) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise ValueError(f"This is no {ALGORITHM} key.")  # noqa: TRY004 - the file's content is at fault
    return key


def public_pem(key: Ed25519PrivateKey) -> str:
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def public_keys(folder: Path) -> frozenset[str]:
    """All that ever signed here, as PEM, and those that somebody put beside them."""
    paths = (path for path in folder.glob("*.pem") if path.name != SIGNING_KEY)
    return frozenset(path.read_text(errors="replace") for path in paths)


def key_id(pem: str) -> str:
    """The first half of the SHA-256 of a public key in DER, in hex; ValueError for what is no such key."""
    der = _public_key(pem).public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return hashlib.sha256(der).hexdigest()[:32]


def is_signed_by(pem: str, signature: bytes, data: bytes) -> bool:
    """Whether ``signature`` is that of ``data`` by this public key; what is no key has signed nothing."""
    try:
        _public_key(pem).verify(signature, data)
    except (InvalidSignature, ValueError, UnsupportedAlgorithm):
        return False
    return True


def _public_key(pem: str) -> Ed25519PublicKey:
    key = load_pem_public_key(pem.encode())
    if not isinstance(key, Ed25519PublicKey):
        raise ValueError(f"This is no {ALGORITHM} key.")  # noqa: TRY004 - the text is at fault
    return key
