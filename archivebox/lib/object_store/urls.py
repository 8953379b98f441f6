"""Owns what the URL of an object store means."""

from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from archivebox.lib.object_store.folder import FolderStore
from archivebox.lib.object_store.interface import ObjectStore, RequestLimits, check_key

FORMS = "file:///folder or s3://bucket/prefix?endpoint=https://…&region=…"
_OPTIONS = {"endpoint", "region", "addressing"}
_ADDRESSING = {"path", "virtual"}


def open_store(url: str, limits: RequestLimits | None = None) -> ObjectStore:
    """The store that a URL names; nothing is asked of it yet. ValueError for a URL that names none."""
    split = urlsplit(url)
    if split.scheme == "file":
        return _open_folder(split)
    if split.scheme == "s3":
        return _open_bucket(split, limits)
    raise ValueError(f"not the URL of a store: {url!r}. It has to be {FORMS}")


def _open_folder(split: SplitResult) -> ObjectStore:
    if split.netloc not in {"", "localhost"} or split.query or split.fragment or not split.path.startswith("/"):
        raise ValueError(f"not the URL of a folder: {split.geturl()!r}. It has to be file:///folder")
    return FolderStore(Path(unquote(split.path)))


def _open_bucket(split: SplitResult, limits: RequestLimits | None) -> ObjectStore:
    from archivebox.lib.object_store.s3 import Bucket, S3Store  # 0.2 s, for those who have a bucket

    options = dict(parse_qsl(split.query, keep_blank_values=True, strict_parsing=bool(split.query)))
    prefix = unquote(split.path).strip("/")
    endpoint, region = options.get("endpoint"), options.get("region")
    addressing = options.get("addressing", "path" if endpoint else "auto")
    if not split.netloc or "@" in split.netloc or split.fragment or options.keys() - _OPTIONS:
        raise ValueError(f"not the URL of a bucket: it has to be {FORMS.partition(' or ')[2]}, and the key is in AWS_*")
    if endpoint is not None and urlsplit(endpoint).scheme not in {"http", "https"}:
        raise ValueError(f"not the URL of an endpoint: {endpoint!r}. It has to begin with https:// or http://")
    if addressing not in {"auto", *_ADDRESSING}:
        raise ValueError(f"addressing is {addressing!r}: it has to be path or virtual")
    if prefix:
        check_key(prefix)
    where = Bucket(split.netloc, f"{prefix}/" if prefix else "", endpoint, region, addressing)
    return S3Store(where, limits)
