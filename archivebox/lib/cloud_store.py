"""Owns objects in a bucket at S3, Google or Azure, and at servers that speak as these do; by obstore.

No request depends on a condition that only some servers know. Each has a time limit and is tried a few times. What is
stored in parts is invisible until its last part is there; the parts of a killed upload stay until a rule of the bucket
deletes them, because obstore does not list them.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import obstore
from obstore.exceptions import BaseError, PermissionDeniedError, PreconditionError, UnauthenticatedError
from obstore.store import AzureStore, GCSStore, S3Store

from archivebox.lib.batches import batches
from archivebox.lib.object_store import (
    BLOCK,
    ListedObject,
    ObjectChangedError,
    ObjectMissingError,
    ObjectStoreError,
    RequestLimits,
    StoreRefusedError,
    StoreUnavailableError,
    check_key,
)

if TYPE_CHECKING:  # stubs alone have them
    from obstore.store import ClientConfig, RetryConfig

PART = 5 * 1024 * 1024
"""Bytes. An object of at most so many is sent in one request. (S3 takes no smaller parts, except the last.)"""
MOST_PARTS = 1_000
"""S3 takes 10,000, and parts of up to 5 GiB; other servers take 1,000."""
DELETED_AT_ONCE = 100
"""Keys of one request. S3 takes 1,000; others would not answer to so many in time."""
SENDING = 6
"""How many times as long a store may take to answer to a part, which has to get there first, as to other requests."""
_OPTIONS = {"s3": {"endpoint", "region", "addressing"}, "gs": {"endpoint"}, "az": {"endpoint"}}
_KEYS = {
    "s3": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS",
    "az": "AZURE_STORAGE_ACCOUNT_KEY",
}
"""The variables that have the credentials."""
_STATUS, _CODE, _MESSAGE = (
    re.compile(each) for each in (r"status code: (\d{3})", r"<Code>(\w+)</Code>", r"<Message>([^<]*)</Message>")
)
_METADATA = "//169.254.169.254/"
"""Where machines of a cloud have their credentials: asked where no variable has any."""
_TRANSIENT = {"RequestTimeout", "RequestTimeTooSkewed", "SlowDown", "Throttling", "OperationAborted"}
"""Codes below 500 that pass by waiting; the clocks of machines are set again, too."""
_HINTS = {
    "NoSuchBucket": "there is no such bucket. Create it, or correct STORAGE_URL",
    "ContainerNotFound": "there is no such container. Create it, or correct STORAGE_URL",
    "InvalidAccessKeyId": "the access key is not known there. Check {keys}",
    "SignatureDoesNotMatch": "the access key and the secret key do not belong together. Check {keys}",
    "ExpiredToken": "the session token has expired. Renew AWS_SESSION_TOKEN",
    "AuthorizationHeaderMalformed": "the region may be wrong. Add region=… to STORAGE_URL",
    "PermanentRedirect": "the bucket is elsewhere. Correct the region or the endpoint in STORAGE_URL",
}
"""What people read about a refusal, by its code."""
_DENIED = "access denied. Check {keys}; the key has to be allowed to read, write, list and delete there"


def open_bucket(scheme: str, name: str, prefix: str, options: dict[str, str], limits: RequestLimits) -> "CloudStore":
    """The bucket of a URL. ValueError for options that are none of its."""
    endpoint = options.get("endpoint")
    addressing = options.get("addressing", "path" if endpoint or "." in name else "virtual")
    if unknown := options.keys() - _OPTIONS[scheme]:
        known = ", ".join(f"{each}=…" for each in sorted(_OPTIONS[scheme]))
        raise ValueError(
            f"{scheme}:// has no {', '.join(sorted(unknown))}. It has {known}; keys belong in {_KEYS[scheme]}"
        )
    if endpoint is not None and urlsplit(endpoint).scheme not in {"http", "https"}:
        raise ValueError(f"not the URL of an endpoint: {endpoint!r}. It has to begin with https:// or http://")
    if addressing not in {"path", "virtual"}:
        raise ValueError(f"addressing is {addressing!r}: it has to be path or virtual")
    shown = f"{scheme}://{name}/{prefix}".rstrip("/") + "/"
    if scheme == "az":
        account, (name, _, prefix) = name, prefix.partition("/")
        if not name:
            raise ValueError("not the URL of a container: it has to be az://account/container/prefix")
        own: dict[str, Any] = {"account_name": account, "endpoint": endpoint}
    elif scheme == "gs":
        own = {"base_url": endpoint}
    else:
        is_virtual = addressing == "virtual"
        if is_virtual and endpoint is not None:
            endpoint = endpoint.replace("://", f"://{name}.", 1)
        own = {"endpoint": endpoint, "region": options.get("region"), "virtual_hosted_style_request": is_virtual}
    own = {"prefix": prefix or None, **{key: value for key, value in own.items() if value is not None}}
    return CloudStore(scheme, name, own, shown, limits)


class CloudStore:
    """An :class:`~archivebox.lib.object_store.ObjectStore` in a bucket, with the credentials of variables."""

    def __init__(self, scheme: str, bucket: str, own: dict[str, Any], shown: str, limits: RequestLimits) -> None:
        self._keys, self._shown = _KEYS[scheme], shown
        kind = {"s3": S3Store, "gs": GCSStore, "az": AzureStore}[scheme]
        retry: RetryConfig = {"max_retries": limits.attempts - 1}
        try:
            self._store, self._sender = (
                kind(bucket, **own, client_options=_client(limits, answer), retry_config=retry)
                for answer in (limits.answer, limits.answer * SENDING)
            )
        except BaseError as error:  # such as a file of credentials that cannot be read
            raise StoreRefusedError(f"{shown}: {str(error).partition('Debug source:')[0].strip()}") from None

    def put(self, key: str, blocks: Iterable[bytes], size: int = 0) -> None:
        store = self._store if size <= BLOCK else self._sender
        part = max(PART, -(-size // MOST_PARTS))
        with (
            self._translated(key),
            obstore.open_writer(store, check_key(key), buffer_size=part, max_concurrency=1) as writer,
        ):  # it aborts what it has begun if the blocks fail
            for block in blocks:
                writer.write(block)

    def read(self, key: str, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        check_key(key)
        if stop is not None and stop <= start:
            return
        beyond = {"range": {"offset": start} if stop is None else (start, stop)} if start or stop is not None else {}
        try:
            with self._translated(key):
                answer = obstore.get(self._store, key, options=beyond)  # type: ignore[arg-type]  # one of its forms
        except _BeyondEndError:
            return
        with self._translated(key, missing=ObjectChangedError):
            for block in answer.stream(min_chunk_size=BLOCK):
                yield bytes(block)

    def size_of(self, key: str) -> int | None:
        check_key(key)
        with suppress(ObjectMissingError), self._translated(key):
            return obstore.head(self._store, key)["size"]
        with suppress(ObjectMissingError), self._translated(key):  # it says which of the two is missing
            obstore.get(self._store, key)
        return None

    def delete(self, keys: Iterable[str]) -> None:
        for some in batches(map(check_key, keys), DELETED_AT_ONCE):
            try:
                with self._translated(""):
                    obstore.delete(self._store, some)
            except ObjectMissingError:  # at Google and Azure, where the rest was not deleted
                for key in some:
                    with suppress(ObjectMissingError), self._translated(key):
                        obstore.delete(self._store, key)

    def list(self, prefix: str) -> Iterator[ListedObject]:
        folder = prefix.rpartition("/")[0] or None
        with self._translated(prefix):
            for found in obstore.list(self._store, folder):
                for each in found:
                    if each["path"].startswith(prefix):
                        yield ListedObject(each["path"], each["size"], each["last_modified"])

    @contextmanager
    def _translated(self, key: str, missing: type[ObjectStoreError] = ObjectMissingError) -> Iterator[None]:
        """The errors of obstore as those of a store, without its texts, which have ids of keys and signatures."""
        try:
            yield
        except (BaseError, OSError) as error:
            if not isinstance(error, BaseError) and (error.errno or type(error) not in {OSError, FileNotFoundError}):
                raise  # of the blocks that are to be stored: obstore has no number, and no other type
            raise self._error_of(error, key, missing) from None

    def _error_of(self, error: Exception, key: str, missing: type[ObjectStoreError]) -> ObjectStoreError:
        text, name = str(error).partition("Debug source:")[0], f"{self._shown}{key}"
        status, code, message = (
            found[1] if (found := each.search(text)) else "" for each in (_STATUS, _CODE, _MESSAGE)
        )
        if _METADATA in text:
            return StoreRefusedError(f"{name}: there are no credentials. Set {self._keys}.")
        if code in _HINTS:
            return StoreRefusedError(f"{name}: {_HINTS[code].format(keys=self._keys)}.")
        if isinstance(error, PreconditionError) or (missing is ObjectChangedError and status in {"404", "416"}):
            return ObjectChangedError(f"{name} was replaced while it was read.")
        if status == "416":
            return _BeyondEndError(f"{name} ends before what is to be read.")
        if isinstance(error, FileNotFoundError):
            return ObjectMissingError(f"There is no object {key!r} in {self._shown}.")
        if isinstance(error, PermissionDeniedError | UnauthenticatedError) or status in {"401", "403"}:
            return StoreRefusedError(f"{name}: {_DENIED.format(keys=self._keys)}.")
        if not status:
            return StoreUnavailableError(f"{name}: the store does not answer.")
        if status >= "500" or status == "429" or code in _TRANSIENT:
            return StoreUnavailableError(f"{name}: the store cannot do it now ({code or status}: {message}).")
        return StoreRefusedError(f"{name}: the store refuses ({code or status}: {message}).")


class _BeyondEndError(ObjectStoreError):
    """The object ends before the range that was asked for."""


def _client(limits: RequestLimits, answer: float) -> "ClientConfig":
    return {
        "allow_http": True,
        "connect_timeout": timedelta(seconds=limits.connect),
        "read_timeout": timedelta(seconds=answer),
        "timeout": timedelta(days=1),  # of all of a body, however large
    }
