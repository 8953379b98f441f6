"""Owns saying whether an authority's time stamp over the hashes of a snapshot holds (RFC 3161)."""

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from cryptography.x509 import Certificate, load_pem_x509_certificates
from rfc3161_client import TimeStampResponse, VerificationError, VerifierBuilder, decode_timestamp_response

from archivebox.core.evidence.signature import Checked
from archivebox.core.evidence.signer import MANIFEST
from archivebox.lib.files import read_regular

STAMP = "timestamp/hashes.tsr"
"""What the authority answered, kept by the plugin that asks it."""
STAMP_SIZE = 1024 * 1024

CHANGED = f"The time stamp cannot be read: {STAMP} was changed."


def check_stamp(folder: Path, manifest: bytes, keys: Path) -> Checked | None:
    """Whether ``manifest`` is what was stamped, by an authority whose root is in ``keys``; None: it was not."""
    try:
        data = read_regular(folder / STAMP, STAMP_SIZE)
    except FileNotFoundError:
        return None
    except OSError:
        return Checked(holds=False, sentence=CHANGED)
    stamp = _read(data)
    if stamp is None:
        return Checked(holds=False, sentence=CHANGED)
    problem = _problem_of(stamp, hashlib.sha256(manifest).digest(), list(_roots(keys)))
    return Checked(
        not problem, problem or f"The time stamp of {_time_of(stamp)} is valid: the hashes existed at that time."
    )


def stamped_at(data: bytes) -> str:
    """The time that a time stamp names; empty for what is none."""
    stamp = _read(data)
    return _time_of(stamp) if stamp else ""


def _read(data: bytes) -> TimeStampResponse | None:
    """A time stamp that can be asked for all that is in it."""
    try:
        stamp = decode_timestamp_response(data)
        _time_of(stamp)
    except ValueError:
        return None
    return stamp


def _time_of(stamp: TimeStampResponse) -> str:
    return stamp.tst_info.gen_time.isoformat(timespec="seconds")


def _problem_of(stamp: TimeStampResponse, digest: bytes, roots: list[Certificate]) -> str:
    at = _time_of(stamp)
    if stamp.tst_info.message_imprint.message != digest:
        return f"The time stamp of {at} is that of other hashes: {MANIFEST} was changed."
    if not roots:
        return f"The time stamp of {at} cannot be verified: put the root certificate of its authority into keys/."
    try:
        VerifierBuilder(roots=roots).build().verify(stamp, digest)
    except (VerificationError, ValueError) as error:
        return f"The time stamp of {at} is of no authority whose root certificate is in keys/, or was changed: {error}."
    return ""


def _roots(keys: Path) -> Iterator[Certificate]:
    """The authorities that somebody trusts: the certificates beside the collection's keys."""
    for path in keys.glob("*.pem"):
        with suppress(ValueError):  # what is no certificate, such as a key, vouches for no time
            yield from load_pem_x509_certificates(path.read_bytes())
