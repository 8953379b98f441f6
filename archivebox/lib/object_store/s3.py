"""Owns objects in a bucket of a store that speaks S3, by botocore.

No request depends on a condition that only some servers know. Each has a time limit and is tried a few times.
"""

import base64
import hashlib
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Any, BinaryIO, NamedTuple

import boto3.session
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    HTTPClientError,
    IncompleteReadError,
    NoCredentialsError,
    PartialCredentialsError,
)
from botocore.exceptions import ConnectionError as EndpointError

from archivebox.lib.object_store.interface import (
    BLOCK,
    ListedObject,
    ObjectChangedError,
    ObjectMissingError,
    ObjectStoreError,
    Part,
    RequestLimits,
    SourceWindow,
    StoreRefusedError,
    StoreUnavailableError,
    UnfinishedUpload,
    UploadMissingError,
    check_key,
    is_sent_at_once,
    parts_of,
)

DELETED_AT_ONCE = 100
"""Keys of one request. S3 takes 1,000; others would not answer to so many in time."""
_MISSING = {"NoSuchKey", "404"}
_TRANSIENT = {"RequestTimeout", "RequestTimeTooSkewed", "SlowDown", "Throttling", "OperationAborted"}
"""Codes below 500 that pass by waiting; the clocks of machines are set again, too."""
_CHECK_KEYS = "Check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
_DENIED = f"access denied. {_CHECK_KEYS}; the key has to be allowed to read, write, list and delete there"
_HINTS = {
    "NoSuchBucket": "there is no such bucket. Create it, or correct STORAGE_URL",
    "InvalidAccessKeyId": f"the access key is not known there. {_CHECK_KEYS}",
    "SignatureDoesNotMatch": f"the access key and the secret key do not belong together. {_CHECK_KEYS}",
    "AccessDenied": _DENIED,
    "403": _DENIED,
    "ExpiredToken": "the session token has expired. Renew AWS_SESSION_TOKEN",
    "AuthorizationHeaderMalformed": "the region may be wrong. Add region=… to STORAGE_URL",
    "PermanentRedirect": "the bucket is elsewhere. Correct the region or the endpoint in STORAGE_URL",
    "301": "the bucket is elsewhere. Correct the region or the endpoint in STORAGE_URL",
}
"""What people read about a refusal, by its code."""


class Bucket(NamedTuple):
    """Where objects are. ``prefix``: empty, or what all keys begin with there, ending with ``/``."""

    name: str
    prefix: str = ""
    endpoint: str | None = None
    region: str | None = None
    addressing: str = "auto"


class S3Store:
    """An :class:`~archivebox.lib.object_store.ObjectStore` in a bucket, with the credentials of AWS_* variables."""

    def __init__(self, bucket: Bucket, limits: RequestLimits | None = None) -> None:
        self._bucket, self._limits = bucket, limits or RequestLimits()
        with self._translated(""):
            self._client = _connect(bucket, self._limits)

    def put_file(self, key: str, source: BinaryIO, size: int, upload: str = "") -> None:
        check_key(key)
        if upload and self._is_complete(key, source, size):
            self.abort_upload(key, upload)
            return
        if not is_sent_at_once(size):
            self._put_parts(key, source, size, upload or self.begin_upload(key), is_own=not upload)
            return
        window = SourceWindow(source, 0, size)
        with window.failing_as_source(), self._translated(key):
            self._client.put_object(**self._at(key), Body=window)
        if upload:
            self.abort_upload(key, upload)

    def begin_upload(self, key: str) -> str:
        check_key(key)
        with self._translated(key):
            return str(self._client.create_multipart_upload(**self._at(key))["UploadId"])

    def abort_upload(self, key: str, upload: str) -> None:
        with suppress(UploadMissingError, ObjectMissingError), self._translated(key):
            self._client.abort_multipart_upload(**self._at(check_key(key)), UploadId=upload)

    def uploads(self, prefix: str) -> Iterator[UnfinishedUpload]:
        pages = self._client.get_paginator("list_multipart_uploads")
        with self._translated(prefix):
            for page in pages.paginate(Bucket=self._bucket.name, Prefix=self._bucket.prefix + prefix):
                for each in page.get("Uploads", ()):
                    yield UnfinishedUpload(self._key(each["Key"]), each["UploadId"], each["Initiated"])

    def put_bytes(self, key: str, data: bytes) -> None:
        self.put_file(key, io.BytesIO(data), len(data))

    def read(self, key: str, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        check_key(key)
        etag, position, failures = "", start, 0
        while stop is None or position < stop:
            with self._translated(key):
                answer = self._get(key, position, stop, etag)
            if answer is None:
                return
            etag, stop = answer["ETag"], position + int(answer["ContentLength"])
            try:
                with self._translated(key):
                    for block in _blocks(answer["Body"]):
                        position, failures = position + len(block), 0
                        yield block
            except StoreUnavailableError:  # the connection broke, or nothing came
                failures += 1
                if failures >= self._limits.attempts:
                    raise
            else:
                return

    def size_of(self, key: str) -> int | None:
        found = self._head(check_key(key))
        return None if found is None else int(found["ContentLength"])

    def delete(self, keys: Iterable[str]) -> None:
        left = iter(keys)
        while some := [{"Key": self._bucket.prefix + check_key(key)} for key in islice(left, DELETED_AT_ONCE)]:
            with self._translated(""):
                answer = self._client.delete_objects(Bucket=self._bucket.name, Delete={"Objects": some, "Quiet": True})
            for error in answer.get("Errors", ()):
                if error.get("Code") not in _MISSING:
                    raise self._error_of(error.get("Code", ""), error.get("Message", ""), 0, error.get("Key", ""))

    def list(self, prefix: str) -> Iterator[ListedObject]:
        pages = self._client.get_paginator("list_objects_v2")
        with self._translated(prefix):
            for page in pages.paginate(Bucket=self._bucket.name, Prefix=self._bucket.prefix + prefix):
                for each in page.get("Contents", ()):
                    yield ListedObject(self._key(each["Key"]), each["Size"], each["LastModified"])

    def _at(self, key: str) -> dict[str, str]:
        return {"Bucket": self._bucket.name, "Key": self._bucket.prefix + key}

    def _key(self, key: str) -> str:
        return key.removeprefix(self._bucket.prefix)

    def _head(self, key: str) -> Mapping[str, Any] | None:
        """The object's headers; an answer to HEAD does not say whether the bucket or the object is missing."""
        try:
            with self._translated(key):
                found: Mapping[str, Any] = self._client.head_object(**self._at(key))
                return found
        except ObjectMissingError:
            with self._translated("", missing="NoSuchBucket"):
                self._client.head_bucket(Bucket=self._bucket.name)
            return None

    def _get(self, key: str, start: int, stop: int | None, etag: str) -> Mapping[str, Any] | None:
        """The answer to one request; None if the object ends before ``start``."""
        wanted = {"Range": f"bytes={start}-{'' if stop is None else stop - 1}"} if start or stop is not None else {}
        same = {"IfMatch": etag} if etag else {}
        try:
            found: Mapping[str, Any] = self._client.get_object(**self._at(key), **wanted, **same)
        except ClientError as error:
            code = error.response.get("Error", {}).get("Code")
            is_beyond = code in {"InvalidRange", "416"}
            if is_beyond and not etag:
                return None
            if is_beyond or code in {"PreconditionFailed", "412"} or (etag and code in _MISSING):
                raise ObjectChangedError(f"{self._named(key)} was replaced while it was read.") from error
            raise
        return found

    def _put_parts(self, key: str, source: BinaryIO, size: int, upload: str, *, is_own: bool) -> None:
        try:
            etags = self._send_parts(key, source, size, upload)
            with self._translated(key):
                parts = [{"PartNumber": number, "ETag": etag} for number, etag in etags]
                self._client.complete_multipart_upload(
                    **self._at(key), UploadId=upload, MultipartUpload={"Parts": parts}
                )
        except BaseException:
            if is_own:
                self._abort_after_failure(key, upload)
            raise
        if self.size_of(key) != size:
            raise StoreUnavailableError(f"{self._named(key)} is not whole after its upload.")

    def _send_parts(self, key: str, source: BinaryIO, size: int, upload: str) -> Sequence[tuple[int, str]]:
        """Number and ETag of each part, once all are stored."""
        stored = self._stored_parts(key, upload)
        etags = []
        for part in parts_of(size):
            window = SourceWindow(source, part.start, part.size)
            with window.failing_as_source():
                former_size, etag = stored.get(part.number, (-1, ""))
                if former_size != part.size or _plain(etag) != _md5(window).hex():
                    etag = self._send_part(key, upload, part, window)
            etags.append((part.number, etag))
        return etags

    def _send_part(self, key: str, upload: str, part: Part, window: SourceWindow) -> str:
        with self._translated(key):
            answer = self._client.upload_part(**self._at(key), UploadId=upload, PartNumber=part.number, Body=window)
        return str(answer["ETag"])

    def _stored_parts(self, key: str, upload: str) -> dict[int, tuple[int, str]]:
        pages = self._client.get_paginator("list_parts").paginate(**self._at(key), UploadId=upload)
        with self._translated(key):
            return {
                each["PartNumber"]: (each["Size"], each["ETag"]) for page in pages for each in page.get("Parts", ())
            }

    def _is_complete(self, key: str, source: BinaryIO, size: int) -> bool:
        """Whether the object is there; UploadMissingError if it was stored from other bytes than the source's.

        Swift takes parts of a completed upload, too, which damages the object.
        """
        found = self._head(key)
        if found is None:
            return False
        is_same = found["ContentLength"] == size and (
            _plain(found["ETag"]) == _expected_etag(source, size) or self._has_bytes_of(key, source, size)
        )
        if not is_same:
            raise UploadMissingError(f"{self._named(key)} was stored from other bytes.")
        return True

    def _has_bytes_of(self, key: str, source: BinaryIO, size: int) -> bool:
        """Read the object, whose ETag says nothing of its bytes where the store encrypts."""
        window = SourceWindow(source, 0, size)
        return all(window.read(len(block)) == block for block in self.read(key))

    def _abort_after_failure(self, key: str, upload: str) -> None:
        """What cannot be removed now is an unfinished upload, which ``uploads`` names."""
        with suppress(StoreUnavailableError, StoreRefusedError):
            self.abort_upload(key, upload)

    def _named(self, key: str) -> str:
        return f"s3://{self._bucket.name}/{self._bucket.prefix}{key}"

    @contextmanager
    def _translated(self, key: str, missing: str = "NoSuchKey") -> Iterator[None]:
        """The errors of botocore as those of a store. ``missing``: the code that a bare 404 stands for."""
        try:
            yield
        except ClientError as error:
            code = str(error.response.get("Error", {}).get("Code", ""))
            status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
            message = str(error.response.get("Error", {}).get("Message", ""))
            raise self._error_of(missing if code == "404" else code, message, status, key) from error
        except (HTTPClientError, EndpointError, IncompleteReadError) as error:
            raise StoreUnavailableError(f"{self._named(key)}: the store does not answer ({error}).") from error
        except (NoCredentialsError, PartialCredentialsError) as error:
            message = "there are no credentials. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
            raise StoreRefusedError(f"{self._named(key)}: {message}.") from error
        except BotoCoreError as error:  # of credentials and configuration
            raise StoreRefusedError(f"{self._named(key)}: {error}") from error

    def _error_of(self, code: str, message: str, status: int, key: str) -> ObjectStoreError:
        name = self._named(key)
        if code in _MISSING:
            return ObjectMissingError(f"There is no object {key!r} in {self._named('')}.")
        if code == "NoSuchUpload":
            return UploadMissingError(f"There is no upload for {name}.")
        if status >= 500 or status == 429 or code in _TRANSIENT or code in {"InternalError", "ServiceUnavailable"}:
            return StoreUnavailableError(f"{name}: the store cannot do it now ({code}: {message}).")
        return StoreRefusedError(f"{name}: {_HINTS.get(code, f'the store refuses ({code}: {message})')}.")


def _connect(bucket: Bucket, limits: RequestLimits) -> Any:
    config = Config(
        connect_timeout=limits.connect,
        read_timeout=limits.answer,
        retries={"mode": "standard", "total_max_attempts": limits.attempts},
        request_checksum_calculation="when_required",  # other servers refuse checksums that are new in S3
        response_checksum_validation="when_required",
        s3={"addressing_style": bucket.addressing},
    )
    region = {"region_name": bucket.region} if bucket.region else {}
    client = boto3.session.Session().client("s3", endpoint_url=bucket.endpoint, config=config, **region)
    client.meta.events.register("before-call.s3.DeleteObjects", _add_md5)
    return client


def _add_md5(params: dict[str, Any], **_: object) -> None:
    """The digest that servers ask for in a deletion of many, where AWS has another since 2025."""
    digest = hashlib.md5(params["body"], usedforsecurity=False).digest()
    params["headers"]["Content-MD5"] = base64.b64encode(digest).decode()


def _blocks(body: Any) -> Iterator[bytes]:
    try:
        yield from body.iter_chunks(BLOCK)
    finally:
        body.close()


def _md5(window: SourceWindow) -> bytes:
    """What a part's ETag is. (Where the bucket is encrypted it is not: then parts are sent again.)"""
    digest = hashlib.md5(usedforsecurity=False)
    window.seek(0)
    for block in window.blocks():
        digest.update(block)
    window.seek(0)
    return digest.digest()


def _expected_etag(source: BinaryIO, size: int) -> str:
    """Of an object that was sent as this module sends it, where ETags are made of MD5."""
    if is_sent_at_once(size):
        return _md5(SourceWindow(source, 0, size)).hex()
    digests = [_md5(SourceWindow(source, part.start, part.size)) for part in parts_of(size)]
    return f"{hashlib.md5(b''.join(digests), usedforsecurity=False).hexdigest()}-{len(digests)}"


def _plain(etag: str) -> str:
    return etag.strip('"')
