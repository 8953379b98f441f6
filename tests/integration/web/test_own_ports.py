"""The ports of our own server and database are not archived, on whatever ports they listen."""

import json
import os
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.webserver.fixtures import Library, open_library
from tests.webserver.server import in_collection

ADD = """
from django.contrib.auth.models import User
from archivebox.accounts import tokens
print(tokens.issue(User.objects.get(username="reader"), "test", ["write"])[1])
"""


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """A library that may reach all of loopback."""
    yield from open_library(tmp_path_factory.mktemp("own"), PRIVATE_NETWORK_ALLOWLIST='["127.0.0.0/8"]')


@pytest.fixture(scope="module")
def token(opened: Library) -> str:
    return in_collection(opened.server.folder, ADD)


def status_of_adding(library: Library, token: str, port: int) -> int:
    body = json.dumps({"urls": [f"http://127.0.0.1:{port}/"], "hold": True}).encode()
    sent: dict[str, Any] = {"Authorization": f"Bearer {token}", "Content_Type": "application/json"}
    return library.server.ask("/api/v1/crawls", method="POST", body=body, **sent).status


def test_the_ports_that_the_server_listens_on_are_its_own(opened: Library, token: str) -> None:
    assert status_of_adding(opened, token, opened.server.port) == 422
    assert status_of_adding(opened, token, opened.server.replay_port) == 422


def test_ports_that_it_only_would_listen_on_are_anybodys(opened: Library, token: str) -> None:
    assert status_of_adding(opened, token, 8000) == 201


def test_the_port_of_the_database_is_our_own(opened: Library, token: str) -> None:
    port = urlsplit(os.environ.get("DATABASE_URL", "")).port
    assert status_of_adding(opened, token, port or 5432) == (422 if "DATABASE_URL" in os.environ else 201)
