"""A POST with an Idempotency-Key runs once, also when the web server is killed while it carries it out."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.databases import drop_database_of
from tests.empty import make_empty
from tests.webserver.server import CHECKOUT, Answer, Server, environment, free_ports, in_collection

START = """
import os, signal, sys, threading
where, function, event = sys.argv[1:4]
def kill(frame, happened, _):
    code = frame.f_code
    if happened == event and code.co_name == function and code.co_filename.endswith(where):
        os.kill(os.getpid(), signal.SIGKILL)
if where:
    threading.setprofile(kill)
from archivebox.web.server.__main__ import main
sys.exit(main(sys.argv[4:]))
"""
"""A web server that kills itself at a certain step: when a function is called, or has returned."""
NEVER = ("", "", "")
STEPS = {
    "before anything is written": ("api/once.py", "_once", "call"),
    "once its key is reserved": ("accounts/answers.py", "reserve", "return"),
    "once the crawl is written": ("core/intake/add_urls.py", "create_crawl", "return"),
    "before its answer is stored": ("accounts/answers.py", "store", "call"),
    "before the commit": ("accounts/answers.py", "store", "return"),
    "after the commit": ("api/once.py", "_once", "return"),
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


@contextmanager
def web_server(folder: Path, step: tuple[str, str, str]) -> Iterator[Server]:
    """A web server alone, without a supervisor that would start it again."""
    server = Server(folder)
    server.port, server.log = free_ports(), folder.parent / "web.out"
    bind = ["--bind", f"127.0.0.1:{server.port}", "--replay", f"127.0.0.1:{server.replay_port}"]
    with server.log.open("ab") as out:
        server.cli = subprocess.Popen(
            [sys.executable, "-c", START, *step, *bind], env=environment(folder), stdout=out, stderr=out, cwd=CHECKOUT
        )
    try:
        yield server
    finally:
        server.stop()


def send(server: Server, token: str, key: str, url: str) -> Answer:
    return post(server, token, key, "crawls", {"urls": [url]})


def post(server: Server, token: str, key: str, path: str, sent_body: dict[str, Any]) -> Answer:
    """Send it again and again until there is an answer: the server may only just have been started."""
    body = json.dumps(sent_body).encode()
    sent: dict[str, Any] = {
        "Authorization": f"Bearer {token}",
        "Content_Type": "application/json",
        "Idempotency_Key": key,
    }
    for _ in range(600):
        try:
            return server.ask(f"/api/v1/{path}", method="POST", body=body, **sent)
        except ConnectionRefusedError:
            time.sleep(0.05)
    raise AssertionError(f"no answer: {server.output}")


def rows(folder: Path, model: str = CRAWL) -> int:
    return int(in_collection(folder, COUNT.format(*model.rsplit(".", 1))))


@pytest.mark.parametrize("step", STEPS)
def test_a_request_whose_server_is_killed_runs_once_when_sent_again(folder: Path, token: str, step: str) -> None:
    before, url = rows(folder), f"https://example.com/{len(step)}"
    with web_server(folder, STEPS[step]) as server:
        with pytest.raises(ConnectionError):
            send(server, token, step, url)
        assert server.cli.wait(30) == -9, server.output
    is_committed = step == "after the commit"
    assert rows(folder) == before + is_committed, "all of it is committed, or nothing"
    with web_server(folder, NEVER) as server:
        answer = send(server, token, step, url)
        assert (answer.status, "idempotency-replayed" in answer.headers) == (201, is_committed), answer.text
        again = send(server, token, step, url)
    assert (again.status, json.loads(again.body)["id"]) == (201, json.loads(answer.body)["id"])
    assert rows(folder) == before + 1


@pytest.mark.parametrize("path", OTHERS)
def test_effects_outside_the_database_leave_one_row(folder: Path, token: str, path: str) -> None:
    model, body, status = OTHERS[path]
    before = rows(folder, model)
    with web_server(folder, STEPS["before the commit"]) as server, pytest.raises(ConnectionError):
        post(server, token, path, path, body)
    assert rows(folder, model) == before
    with web_server(folder, NEVER) as server:
        answer = post(server, token, path, path, body)
    assert answer.status == status, answer.text
    assert rows(folder, model) == before + 1


def test_requests_sent_at_the_same_moment_with_one_key_run_once(folder: Path, token: str) -> None:
    before = rows(folder)
    with web_server(folder, NEVER) as server, ThreadPoolExecutor(8) as pool:
        send(server, token, "first", "https://example.com/first")
        answers = list(pool.map(lambda _: send(server, token, "all", "https://example.com/all"), range(8)))
    assert [answer.status for answer in answers] == [201] * 8, answers
    assert len({answer.body for answer in answers}) == 1
    assert rows(folder) == before + 2
