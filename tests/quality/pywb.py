"""Owns other readers of the same WARC files: pywb replays them, FastWARC and warcio read them to their ends.

pywb is under the GPL: a program in an environment of its own, which is made from the package index on first use, kept,
and never imported. Without it the pages are measured all the same.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.error import URLError
from urllib.request import urlopen

from tests.site.bundles import kept_folder
from tests.webserver.server import free_ports

PINS = ("pywb==2.10.0", "FastWARC==1.1.0", "warcio==1.8.1")
COLLECTION = "quality"
INSTALL_S, INDEX_S, START_S = 300.0, 600.0, 60.0
READ = """
import json, sys
from fastwarc.warc import ArchiveIterator, WarcRecordType
from warcio.archiveiterator import ArchiveIterator as Iterator
for path in sys.argv[1:]:
    said = {"path": path, "problem": ""}
    try:
        with open(path, "rb") as file:
            said["warcio"] = 0
            for record in Iterator(file, check_digests="raise"):
                record.content_stream().read()
                said["warcio"] += 1
        with open(path, "rb") as file:
            said["fastwarc"] = 0
            for record in ArchiveIterator(file, record_types=WarcRecordType.any_type, parse_http=False):
                whole = len(record.reader.read())
                if whole != record.content_length:
                    raise ValueError(f"{record.record_id}: {whole} bytes of {record.content_length}")
                said["fastwarc"] += 1
    except Exception as error:
        said["problem"] = f"{type(error).__name__}: {error}"
    print(json.dumps(said))
"""


class NotInstalledError(Exception):
    """The readers could not be installed; the message is a sentence."""


class Read(NamedTuple):
    """What two libraries found in one WARC file."""

    path: str
    records: int
    problem: str


@dataclass(frozen=True)
class Readers:
    """The environment of pywb, FastWARC and warcio."""

    bin: Path

    def read(self, warcs: Sequence[Path]) -> list[Read]:
        """Read files to their ends with both libraries; they must find the same number of records."""
        done = self._run(["python", "-c", READ, *map(str, warcs)], Path.cwd(), INDEX_S)
        return [_read(json.loads(line)) for line in done.splitlines()]

    @contextmanager
    def replaying(self, folder: Path, warcs: Sequence[Path]) -> Iterator[Replayer]:
        """pywb with a collection of these files, below a folder."""
        folder.mkdir(parents=True)
        self._run(["wb-manager", "init", COLLECTION], folder, INDEX_S)
        copies = folder / "warcs"
        copies.mkdir()
        for number, path in enumerate(warcs):  # names that two pages share would be told apart by nobody
            shutil.copy(path, copies / f"{number:03d}-{path.name}")
        self._run(["wb-manager", "add", COLLECTION, *map(str, sorted(copies.iterdir()))], folder, INDEX_S)
        (folder / "config.yaml").write_text("framed_replay: false\n")
        (folder / "templates" / "custom_banner.html").write_text("")
        (folder / "templates" / "banner.html").write_text("")
        port = free_ports()
        command = [str(self.bin / "wayback"), "--port", str(port), "--bind", "127.0.0.1"]
        with (
            (folder / "log").open("wb") as log,
            subprocess.Popen(command, cwd=folder, stdout=log, stderr=log) as server,
        ):
            try:
                replayer = Replayer(port)
                replayer.wait()
                yield replayer
            finally:
                server.terminate()

    def _run(self, command: list[str], folder: Path, seconds: float) -> str:
        program, *words = command
        return subprocess.run(
            [str(self.bin / program), *words],
            cwd=folder,
            check=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            timeout=seconds,
        ).stdout


def _read(said: dict[str, str | int]) -> Read:
    problem = str(said["problem"])
    counts = said.get("warcio"), said.get("fastwarc")
    if not problem and counts[0] != counts[1]:
        problem = f"warcio finds {counts[0]} records, FastWARC {counts[1]}"
    return Read(str(said["path"]), int(counts[0] or 0), problem)


@dataclass(frozen=True)
class Replayer:
    """A running pywb."""

    port: int

    def address(self, url: str) -> str:
        return f"http://127.0.0.1:{self.port}/{COLLECTION}/{url}"

    def wait(self) -> None:
        """TimeoutError where it does not answer."""
        end = time.monotonic() + START_S
        while time.monotonic() < end:
            try:
                with urlopen(f"http://127.0.0.1:{self.port}/", timeout=5):
                    return
            except URLError:
                time.sleep(0.2)
        raise TimeoutError("pywb does not answer")


def installed() -> Readers:
    """The environment, made where it is not there; NotInstalledError."""
    place = kept_folder() / "readers-{}".format("-".join(pin.partition("==")[2] for pin in PINS))
    uv = Path(sys.executable).with_name("uv")
    if not (place / "done").exists():
        shutil.rmtree(place, ignore_errors=True)
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            for command in (
                ["venv", "--quiet", str(place)],
                ["pip", "install", "--quiet", "--python", str(place), *PINS],
            ):
                subprocess.run([str(uv), *command], check=True, capture_output=True, text=True, timeout=INSTALL_S)
        except subprocess.CalledProcessError as error:
            raise NotInstalledError(f"{' '.join(PINS)} cannot be installed: {error.stderr[-500:]}") from error
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NotInstalledError(f"{' '.join(PINS)} cannot be installed: {error}") from error
        (place / "done").touch()
    return Readers(place / "bin")
