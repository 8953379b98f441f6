"""Runs the wget hook against the local web."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.loopback import serving
from tests.site.serve import Site

HOOK = Path(__file__).parents[3] / "archivebox" / "plugins" / "wget" / "on_Snapshot__61_wget.py"


@dataclass(frozen=True)
class Run:
    code: int
    records: list[dict[str, object]]
    stderr: str
    folder: Path

    @property
    def result(self) -> dict[str, object]:
        results = [record for record in self.records if record["type"] == "ArchiveResult"]
        assert len(results) == 1, self.stderr
        return results[0]

    @property
    def facts(self) -> dict[str, object]:
        facts = self.result["output_json"]
        assert isinstance(facts, dict)
        return facts

    @property
    def files(self) -> list[str]:
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_file())


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with Site() as running:
        yield running


def environment(settings: dict[str, str]) -> dict[str, str]:
    """With a WARC, which is off by default: most tests read it."""
    return {"PATH": os.environ["PATH"], "WGET_SAVE_WARC": "true", **settings}


@pytest.fixture
def wget(tmp_path: Path) -> Callable[..., Run]:
    folder = tmp_path / "wget"
    folder.mkdir()

    def run(url: str, **settings: str) -> Run:
        done = subprocess.run(
            [sys.executable, str(HOOK), f"--url={url}", "--snapshot-id=s", "--crawl-id=c", "--depth=0"],
            cwd=folder,
            env=environment(settings),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=100,
        )
        records = [json.loads(line) for line in done.stdout.splitlines()]
        return Run(done.returncode, records, done.stderr, folder)

    return run


@pytest.fixture
def page_server(tmp_path: Path) -> Iterator[Callable[[str], str]]:
    """Serves one page of the test's own: call it with the HTML, it returns the URL."""
    folder = tmp_path / "served"
    folder.mkdir()
    handler = partial(SimpleHTTPRequestHandler, directory=str(folder))
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), handler)) as url:

        def serve(html: str) -> str:
            (folder / "page.html").write_text(html)
            return f"{url}/page.html"

        yield serve
