"""A time stamp authority, asked over HTTP (RFC 3161 section 3.4)."""

from __future__ import annotations

import hashlib
from http import HTTPStatus

from asn1crypto.cms import CertificateSet
from asn1crypto.tsp import TimeStampResp
from rfc3161_client import (
    HashAlgorithm,
    PKIStatus,
    TimeStampRequest,
    TimestampRequestBuilder,
    TimeStampResponse,
    decode_timestamp_response,
)

from archivebox.plugins.base.web import Web

MAX_ANSWER = 1 << 18  # bytes


class TimestampRefusedError(Exception):
    """It answered, and not with a time stamp of what was asked."""


class AwayError(Exception):
    """It did not answer, or is out of order."""


def stamp_of(data: bytes, url: str, timeout: float) -> TimeStampResponse:
    """The time stamp of `data`, of which it gets the SHA-256. Raises TimestampRefusedError, AwayError."""
    question = TimestampRequestBuilder().data(data).hash_algorithm(HashAlgorithm.SHA256).build()
    answer = _post(url, question.as_bytes(), timeout)
    try:
        stamp = _read(answer)
        status = PKIStatus(stamp.status)
    except (ValueError, TypeError) as error:
        raise TimestampRefusedError(f"its answer is not a time stamp ({error})") from error
    if status is not PKIStatus.GRANTED:
        raise TimestampRefusedError(f"it says {status.name}{''.join(f': {text}' for text in stamp.status_string)}")
    if not _answers(stamp, question, data):
        raise TimestampRefusedError("its time stamp is of something else")
    return stamp


def _read(answer: bytes) -> TimeStampResponse:
    """A time stamp, or that there is none; ValueError or TypeError for what is neither."""
    try:
        return decode_timestamp_response(answer)
    except ValueError:
        return decode_timestamp_response(_in_order(answer))


def _in_order(answer: bytes) -> bytes:
    """The answer with its certificates in the order of DER, which many authorities do not keep and none signs."""
    response = TimeStampResp.load(answer)
    signed = response["time_stamp_token"]["content"]
    signed["certificates"] = CertificateSet(sorted(signed["certificates"], key=lambda one: one.dump()))
    ordered: bytes = response.dump()
    return ordered


def _answers(stamp: TimeStampResponse, question: TimeStampRequest, data: bytes) -> bool:
    info = stamp.tst_info
    return info.message_imprint.message == hashlib.sha256(data).digest() and info.nonce == question.nonce


def _post(url: str, body: bytes, timeout: float) -> bytes:
    web = Web("", timeout, follow=False)
    try:
        answer = web.fetch(url, MAX_ANSWER, headers={"Content-Type": "application/timestamp-query"}, body=body)
    except OSError as error:
        raise AwayError(str(error)) from error
    if answer.is_busy:
        raise AwayError(f"it answers {answer.status} {answer.reason}")
    if answer.status != HTTPStatus.OK:
        raise TimestampRefusedError(f"it answers {answer.status} {answer.reason}")
    return answer.content
