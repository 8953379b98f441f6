"""``archivebox add`` of one page, from command to prompt, against ``chromium --screenshot`` of the same.

Three collections that have found their programs with a page before: one with a running ``archivebox server``, two
without. Counted is until every output is final. The picture is of the window, as Chromium's is; Chromium makes nothing
else, and its profile is as fresh as ours. The notes say where the time next to a server went, as rows and
``navigation.json`` tell it: until the hooks began, to the load, until the page kept still, for the outputs, until the
prompt. Of a plain file, what ``curl`` takes for it is subtracted.

All bounds are ratios, so that they say the same on a slower machine.
"""

import contextlib
import itertools
import json
import os
import resource
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.commands import ARCHIVEBOX, REPOSITORY, chromium, collection, environment, local_site, seconds_of
from benchmarks.finding import Bound, Finding, interleaved

FOUR = "screenshot,pdf,dom,htmltotext"
OF_FOUR = ("screenshot/thumbnail.webp", "pdf/output.pdf", "dom/output.html", "htmltotext/htmltotext.txt")
OF_ALL = (*OF_FOUR, "singlefile/singlefile.html", "article/article.html", "warc/index.cdxj", "hashes/hashes.json")
OF_FILE = ("staticfile/file.pdf",)
PAGE, FILE = "article", "file.pdf"
"""Of tests/site."""
WINDOW = "1440,900"
PICTURE = "chromium --screenshot"
REFERENCE = 0.67
"""Seconds of ``chromium --screenshot`` on the machine for which bounds were set in seconds."""
BESIDE, ALONE, WHOLE, CPU, PLAIN = 1.3, 2.6, 2.4 / REFERENCE, 3.2 / REFERENCE, 0.3 / REFERENCE
"""Bounds, times Chromium: next to a server, without one, all outputs, their CPU seconds, a plain file beyond curl."""
START_TIME = 60.0
"""Seconds in which a server answers."""
PAUSE = 2.0
"""Seconds after an ``add`` next to a server: it starts its next browser then, which would slow the next measurement."""


@dataclass(frozen=True, slots=True)
class Place:
    """A collection in which pages are added."""

    data: Path
    options: tuple[str, ...] = ()
    outputs: tuple[str, ...] = OF_ALL

    def add(self, url: str) -> float:
        """Seconds of one ``add``; LookupError where an output is lacking."""
        before = self._made()
        seconds = seconds_of([*ARCHIVEBOX, "add", *self.options, url], self.env)
        if len(self._made() - before) != len(self.outputs):
            raise LookupError(f"not archived with all outputs: {url}")
        return seconds

    @property
    def env(self) -> dict[str, str]:
        return environment(self.data, LIB_DIR=str(self.data / "lib"), SCREENSHOT_FULL_PAGE="false")

    def _made(self) -> set[Path]:
        return {path for name in self.outputs for path in self.data.glob(f"users/*/snapshots/*/*/*/{name}")}


def run(rounds: int) -> list[Finding]:
    beside = Finding("add of four outputs, next to a server", "s", Bound.RATIO, BESIDE, [], floor_name=PICTURE)
    alone = Finding("add of four outputs, without a server", "s", Bound.RATIO, ALONE, [], floor_name=PICTURE)
    whole = Finding("add of all outputs", "s", Bound.RATIO, WHOLE, [], floor_name=PICTURE)
    cpu = Finding("CPU of add of all outputs", "s", Bound.RATIO, CPU, [], floor_name=PICTURE)
    plain = Finding("add of a file beyond curl, next to a server", "s", Bound.RATIO, PLAIN, [], floor_name=PICTURE)
    found = [beside, alone, whole, cpu, plain]
    numbers, parts = itertools.count(), []
    with contextlib.ExitStack() as stack:
        site = stack.enter_context(local_site())

        def url(name: str) -> str:
            return f"{site}{name}?n={next(numbers)}"

        four = Place(stack.enter_context(collection()), ("--plugins", FOUR), OF_FOUR)
        everything = Place(stack.enter_context(collection()))
        served = Place(stack.enter_context(collection()), four.options, OF_FOUR)
        files = Place(served.data, (), OF_FILE)
        stack.enter_context(server(served))
        for place, name in ((four, PAGE), (everything, PAGE), (served, PAGE), (files, FILE)):
            place.add(url(name))
        chromium_picture(url(PAGE))

        def next_to_server() -> None:
            began = time.time()
            beside.ours.append(served.add(url(PAGE)))
            parts.append(spent(served.data, began, began + beside.ours[-1]))
            time.sleep(PAUSE)

        def of_all() -> None:
            before = children_cpu()
            whole.ours.append(everything.add(url(PAGE)))
            cpu.ours.append(children_cpu() - before)

        def floor() -> None:
            picture = chromium_picture(url(PAGE))
            for finding in found:
                finding.floor.append(picture)

        interleaved(
            rounds,
            floor,
            next_to_server,
            lambda: alone.ours.append(four.add(url(PAGE))),
            of_all,
            lambda: plain.ours.append(files.add(url(FILE)) - curl(url(FILE))),
        )
    beside.notes = {name: f"{median(part[name] for part in parts):.2f} s" for name in parts[0]}
    return found


@contextlib.contextmanager
def server(place: Place) -> Iterator[str]:
    """``archivebox server`` in a collection, from its first answer on: its URL."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    command = [*ARCHIVEBOX, "server", address]
    with subprocess.Popen(command, cwd=REPOSITORY, env=place.env, stdout=subprocess.DEVNULL) as running:
        try:
            wait_for(f"http://{address}/health/", running)
            yield f"http://{address}"
        finally:
            running.send_signal(signal.SIGTERM)


def wait_for(url: str, running: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + START_TIME
    while True:
        with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=2):
            return
        if running.poll() is not None or time.monotonic() > deadline:
            raise ChildProcessError("the server did not start")
        time.sleep(0.05)


def spent(data: Path, began: float, ended: float) -> dict[str, float]:
    """Seconds of one ``add``, part by part, as the page's own files tell it."""
    navigation = max(data.glob("users/*/snapshots/*/*/*/chrome/navigation.json"), key=lambda path: path.stat().st_mtime)
    seconds, told = json.loads(navigation.read_text())["seconds"], navigation.stat().st_mtime
    opened = told - seconds["settled"]
    last = max(path.stat().st_mtime for name in OF_FOUR for path in [navigation.parent.parent / name])
    return {
        "until it is opened": opened - began,
        "load": seconds["loaded"],
        "quiet": seconds["settled"] - seconds["loaded"],
        "outputs": last - told,
        "until the prompt": ended - last,
    }


def children_cpu() -> float:
    """CPU seconds of all processes that were started from here and have ended, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def curl(url: str) -> float:
    with tempfile.TemporaryDirectory(prefix="bench-curl-") as folder:
        return seconds_of(["curl", "--silent", "--fail", "--output", f"{folder}/file", url], dict(os.environ))


def chromium_picture(page: str) -> float:
    """Seconds in which Chromium takes a picture by itself; LookupError where it does not."""
    with tempfile.TemporaryDirectory(prefix="bench-chromium-") as folder:
        picture = Path(folder) / "picture.png"
        command = [chromium(), "--headless", f"--screenshot={picture}", f"--user-data-dir={folder}/profile"]
        command += [f"--window-size={WINDOW}", "--hide-scrollbars", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
        seconds = seconds_of([*command, page], {**os.environ, "TMPDIR": folder})
        if not picture.stat().st_size:
            raise LookupError("Chromium took no picture")
    return seconds
