"""Owns the stores that the conformance suite runs over."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from archivebox.lib.object_store import FolderStore, ObjectStore, open_store
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
def bucket_url(server: SwiftServer) -> str:
    return server.url(BUCKET, "tests/conformance")


@pytest.fixture(scope="session")
def shared_client(bucket_url: str) -> ObjectStore:
    """A client takes 0.1 s to make."""
    return open_store(bucket_url)


@pytest.fixture
def bucket_store(shared_client: ObjectStore) -> Iterator[ObjectStore]:
    """An empty store on the server."""
    yield shared_client
    shared_client.delete([each.key for each in shared_client.list("")])


@pytest.fixture(params=[pytest.param("folder", marks=pytest.mark.default), "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStore:
    """An empty store of each kind."""
    if request.param == "folder":
        return open_store(f"file://{tmp_path}")
    on_server: ObjectStore = request.getfixturevalue("bucket_store")
    return on_server


@pytest.fixture
def store_url(store: ObjectStore, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The same store, for another process."""
    url: str = f"file://{tmp_path}" if isinstance(store, FolderStore) else request.getfixturevalue("bucket_url")
    return url
