"""Owns the stores that the conformance suite runs over."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from archivebox.lib.object_store import ObjectStore, open_store
from tests.suite.swift import SwiftServer, make_bucket, swift_server

BUCKET = "archive"


@pytest.fixture(scope="session")
def server() -> Iterator[SwiftServer]:
    """A server that speaks S3, with a bucket, whose credentials are in the environment."""
    with swift_server() as running, pytest.MonkeyPatch.context() as patch:
        for name, value in running.environment.items():
            patch.setenv(name, value)
        make_bucket(running, BUCKET)
        yield running


@pytest.fixture(scope="session")
def bucket_store(server: SwiftServer) -> ObjectStore:
    """A store with a client of its own, which takes 0.1 s to make."""
    return open_store(server.url(BUCKET, "tests/conformance"))


@pytest.fixture(params=["folder", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ObjectStore]:
    """An empty store."""
    if request.param == "folder":
        yield open_store(f"file://{tmp_path}")
        return
    store: ObjectStore = request.getfixturevalue("bucket_store")
    yield store
    store.delete([each.key for each in store.list("")])
    for each in store.uploads(""):
        store.abort_upload(each.key, each.upload)
