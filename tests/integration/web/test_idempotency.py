"""A POST with an Idempotency-Key runs once, also when the web server is killed while it carries it out."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.databases import drop_database_of
from tests.empty import make_empty
from tests.forked import KillPoint
from tests.webserver.server import Answer, Server, WebServer, in_collection

STEPS = {
    "before anything is written": KillPoint("api/idempotency.py", "_once", "call"),
    "once its key is reserved": KillPoint("accounts/answers.py", "reserve", "return"),
    "once the crawl is written": KillPoint("core/intake/add_urls.py", "create_crawl", "return"),
    "before its answer is stored": KillPoint("accounts/answers.py", "store", "call"),
    "before the commit": KillPoint("accounts/answers.py", "store", "return"),
    "after the commit": KillPoint("api/idempotency.py", "_once", "return"),
}
TOKEN = """
from django.contrib.auth.models import User
from archivebox.accounts import tokens
print(tokens.issue(User.objects.create_superuser("eve"), "test", ["admin"])[1])
"""
CRAWL = "archivebox.crawls.models.Crawl"
COUNT = "from importlib import import_module as get; print(get({0!r}).{1}.objects.count())"
OTHERS: dict[str, tuple[str, dict[str, object], int]] = {
    "jobs": ("archivebox.jobs.models.Job", {"kind": "verify", "query": ""}, 202),
    "users": ("django.contrib.auth.models.User", {"username": "new"}, 201),
    "binaries": ("archivebox.machine.models.Binary", {"name": "nowhere", "binproviders": ["env"]}, 202),
}
"""Requests with effects outside the database: what they create, their bodies, and their answers."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    made = tmp_path_factory.mktemp("idempotent")
    make_empty(made)
    yield made
    drop_database_of(made)


@pytest.fixture(scope="module")
def token(folder: Path) -> str:
    return in_collection(folder, TOKEN)


def send(server: Server, token: str, key: str, url: str) -> Answer:
    return post(server, token, key, "crawls", {"urls": [url]})


def post(server: Server, token: str, key: str, path: str, sent_body: dict[str, Any]) -> Answer:
    body = json.dumps(sent_body).encode()
    sent: dict[str, Any] = {
        "Authorization": f"Bearer {token}",
        "Content_Type": "application/json",
        "Idempotency_Key": key,
    }
    return server.ask(f"/api/v1/{path}", method="POST", body=body, **sent)


def rows(folder: Path, model: str = CRAWL) -> int:
    return int(in_collection(folder, COUNT.format(*model.rsplit(".", 1))))


@pytest.mark.parametrize("step", STEPS)
def test_a_request_whose_server_is_killed_runs_once_when_sent_again(folder: Path, token: str, step: str) -> None:
    before, url = rows(folder), f"https://example.com/{len(step)}"
    with WebServer(folder, kill_point=STEPS[step]) as server:
        with pytest.raises(ConnectionError):
            send(server, token, step, url)
        assert server.cli.wait(30) == -9, server.output
    is_committed = step == "after the commit"
    assert rows(folder) == before + is_committed, "all of it is committed, or nothing"
    with WebServer(folder) as server:
        answer = send(server, token, step, url)
        assert (answer.status, "idempotency-replayed" in answer.headers) == (201, is_committed), answer.text
        again = send(server, token, step, url)
    assert (again.status, json.loads(again.body)["id"]) == (201, json.loads(answer.body)["id"])
    assert rows(folder) == before + 1


@pytest.mark.parametrize("path", OTHERS)
def test_effects_outside_the_database_leave_one_row(folder: Path, token: str, path: str) -> None:
    model, body, status = OTHERS[path]
    before = rows(folder, model)
    with WebServer(folder, kill_point=STEPS["before the commit"]) as server, pytest.raises(ConnectionError):
        post(server, token, path, path, body)
    assert rows(folder, model) == before
    with WebServer(folder) as server:
        answer = post(server, token, path, path, body)
    assert answer.status == status, answer.text
    assert rows(folder, model) == before + 1


def test_requests_sent_at_the_same_moment_with_one_key_run_once(folder: Path, token: str) -> None:
    before = rows(folder)
    with WebServer(folder) as server, ThreadPoolExecutor(8) as pool:
        send(server, token, "first", "https://example.com/first")
        answers = list(pool.map(lambda _: send(server, token, "all", "https://example.com/all"), range(8)))
    assert [answer.status for answer in answers] == [201] * 8, answers
    assert len({answer.body for answer in answers}) == 1
    assert rows(folder) == before + 2
