"""``kill -9`` of the web server of ``archivebox server`` until a request that is sent again has its stored answer.

supervisord starts the web server again. The floor is the time of an interpreter that imports Django's ORM.
"""

import itertools
import json
import subprocess
import time
import urllib.request
from pathlib import Path

import psutil

from benchmarks.add import Place, server
from benchmarks.commands import ARCHIVEBOX, DJANGO, REPOSITORY, collection, seconds_of
from benchmarks.finding import Bound, Finding, interleaved

ANSWERED = 5.0
"""Seconds from the kill to the answer, at most."""
PATIENCE = 60.0
OLD_ENOUGH = 3.0
"""Seconds after which supervisord takes a program for started: one that ends earlier is a failed start."""


def run(rounds: int) -> list[Finding]:
    finding = Finding("stored answer after a kill of the web server", "s", Bound.MOST, ANSWERED, [])
    finding.quantile, finding.floor_name = 1, "import of the ORM"
    with collection() as data:
        place = Place(data)
        with server(place) as url:
            command = [*ARCHIVEBOX, "token", "create", "restart", "--scope", "write", "--json"]
            made = subprocess.run(command, cwd=REPOSITORY, env=place.env, stdout=subprocess.PIPE, check=True)
            client = Client(url, json.loads(made.stdout)["token"])
            keys = (f"key {number}" for number in itertools.count())
            interleaved(
                rounds,
                lambda: finding.floor.append(seconds_of(DJANGO, place.env)),
                lambda: finding.ours.append(client.seconds_until_replayed(data, next(keys))),
            )
    return [finding]


class Client:
    """Somebody who makes a tag with an idempotency key, and asks again until there is an answer."""

    def __init__(self, url: str, token: str) -> None:
        self._url = f"{url}/api/v1/tags"
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def seconds_until_replayed(self, data: Path, key: str) -> float:
        self._is_replayed(key)
        web_server = web_server_of(data)
        time.sleep(max(0.0, web_server.create_time() + OLD_ENOUGH - time.time()))
        web_server.kill()
        killed = time.perf_counter()
        while time.perf_counter() < killed + PATIENCE:
            try:
                if self._is_replayed(key):
                    return time.perf_counter() - killed
            except OSError:
                time.sleep(0.02)
        raise TimeoutError("the web server did not come back")

    def _is_replayed(self, key: str) -> bool:
        body = json.dumps({"name": key}).encode()
        request = urllib.request.Request(self._url, body, {**self._headers, "Idempotency-Key": key})
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return bool(answer.headers["Idempotency-Replayed"] == "true")


def web_server_of(data: Path) -> psutil.Process:
    """The one below supervisord, whose pid is in the collection's folder."""
    supervisord = psutil.Process(int((data / "run" / "supervisord.pid").read_text()))
    return next(child for child in supervisord.children() if "archivebox.web.server" in child.cmdline())
