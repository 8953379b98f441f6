"""Owns how much of a page its replay shows: a browser shows it, without a network, and counts tiles and words.

The browser is the script of a plugin, which asks here for all that the page wants; what it gets is what people get.
"""

import base64
import contextlib
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote
from uuid import UUID

from archivebox.config.settings import DATA_FOLDER
from archivebox.contract.formats import Format, FormatKind
from archivebox.core.outputs.opening import kept_formats
from archivebox.core.page_storage.folder import local_folder
from archivebox.core.snapshot import Snapshot
from archivebox.hooks import base_layers, plugins, resolve_settings, script_environment
from archivebox.lib import jsonl, processes
from archivebox.lib.jsonl import JSON
from archivebox.machine.binary import binary_paths
from archivebox.machine.host import Machine
from archivebox.machine.process import Process
from archivebox.replay import addresses
from archivebox.replay.addresses import ReplayContext, is_url, policy, sandbox
from archivebox.replay.copies import has_links, linked_copy
from archivebox.replay.files import NotThereError, open_beneath, split_path
from archivebox.replay.index import indices
from archivebox.replay.moments import moment_of
from archivebox.replay.recorded import RecordedRequest, Reply, reply_to, whole
from archivebox.replay.scripts.offline import OfflineView
from archivebox.replay.scripts.requests import ForbiddenError

BROWSER, SCRIPT = "chrome", "compare.py"
"""The plugin that has the browser, and its script for this."""
PICTURES = ("screenshot/screenshot.png", "screenshot/screenshot.webp")
APP = "http://localhost"
"""Where links lead, which nobody follows."""
WORDS = "dom/words.json"
"""The words that the page showed, as the plugin ``dom`` keeps them."""
REPLAY = "shown"
"""Stands in the addresses where the app has a capability."""
COPIES = 2
"""Saved copies of one page that are compared, the best first."""
LARGEST = 32 * 1024 * 1024
"""Bytes of one file that is shown; films are longer, and stand still."""
LONGEST = 120.0
"""Seconds that a page may take, and the start of the browser."""
LOOK_EVERY = 1.0
"""Seconds between two looks whether the browser should make way."""
GRACE = 10.0
"""Seconds that the browser has to end, and its script to remove what both have written."""
_NOTHING: dict[str, JSON] = {"status": 0}


class NotComparableError(Exception):
    """A page cannot be compared; the message is a sentence."""


class NoBrowserError(OSError):
    """No page can be compared; the message is a sentence."""


class PreemptedError(Exception):
    """The browser has made way for work that comes first; nothing is known of the page that it was at."""


@dataclass(frozen=True, slots=True)
class Likeness:
    """What was counted of a replay: how many are there, and of how many. None: there was nothing to compare with.

    ``scripted``: of the replay with scripts; ``copies``: of saved copies, by the key of their format. They are shown
    only where something lacks in the replay.
    """

    words: tuple[int, int] | None
    tiles: tuple[int, int] | None
    scripted: "Likeness | None" = None
    copies: Mapping[str, "Likeness"] = field(default_factory=dict)


class Comparing:
    """A conversation in which pages are compared one after the other, by one browser, which starts with the first.

    ``is_idle_work``: everything else that runs on the machine goes first. ``is_preempted``: whether the browser should
    end now, asked every second.
    """

    def __init__(self, *, is_idle_work: bool = False, is_preempted: Callable[[], bool] = lambda: False) -> None:
        self._options = ["--idle"] * is_idle_work
        self._is_preempted = is_preempted
        self._process: Process | None = None
        self._channel: socket.socket | None = None
        self._buffer = b""
        self._reports: dict[str, Mapping[str, JSON]] = {}
        """Of programs that the script has started and not yet told the end of, by id."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def interrupt(self) -> None:
        """Have :meth:`compare` end soon, from another thread: PreemptedError."""
        self._is_preempted = lambda: True
        process = self._process
        if process is not None and (identity := process.identity) is not None:
            identity.signal(signal.SIGTERM)

    def compare(self, snapshot: Snapshot) -> Likeness:
        """What its replay shows. NotComparableError, NoBrowserError, PreemptedError."""
        folder = local_folder(snapshot)
        url = indices.of(folder).page(snapshot.url, snapshot.final_url)
        if not url:
            raise NotComparableError("It was not recorded, so that it has no replay.")
        picture = next((path for name in PICTURES if (path := folder / name).is_file()), None)
        words = folder / WORDS
        if picture is None and not words.is_file():
            raise NotComparableError("Neither its picture nor its words were kept, so there is nothing to compare.")
        host, moment = f"{snapshot.pk}.localhost", moment_of(snapshot)
        answers, plain = _Answers(folder, host, _scripted(folder, snapshot, url)), sandbox(own=True, scripts=False)
        page: dict[str, JSON] = {
            "replay": [f"http://{host}{ReplayContext(REPLAY, APP, moment).address(url)}", plain],
            "scripted": None if answers.scripted is None else [answers.scripted.address, OfflineView.sandbox],
            "copies": {
                one.key: [f"http://{host}{ReplayContext(REPLAY, APP, moment).address(quote(path))}", plain]
                for one, path in _saved_copies(snapshot)
            },
            "picture": str(picture or ""),
            "words": str(words) if words.is_file() else "",
        }
        return self._converse(page, answers)

    def _converse(self, page: Mapping[str, JSON], answers: "_Answers") -> Likeness:
        if self._process is None:
            self._start()
        deadline = time.monotonic() + LONGEST
        said = self._ask(page, deadline)
        replay: Likeness | None = None
        while said is not None and said["type"] in {"Asked", "Replayed"}:
            if said["type"] == "Asked":
                said = self._ask(answers.to(said), deadline)
            else:
                replay, said = _likeness(said), self._read(deadline)
        if said is None:
            self.end()
            if replay is not None:  # it was its scripts
                return replay
            raise NotComparableError("The browser ended while it showed its replay, or took too long.")
        if said["type"] == "NotCompared":
            raise NotComparableError(str(said["sentence"]))
        scripted, copies = said.get("scripted"), said.get("copies")
        return replace(
            replay or Likeness(None, None),
            scripted=_likeness(scripted) if isinstance(scripted, dict) else None,
            copies={key: _likeness(one) for key, one in copies.items() if isinstance(one, dict)}
            if isinstance(copies, dict)
            else {},
        )

    # --- the process ------------------------------------------------------------------------------------------

    def _start(self) -> None:
        """NoBrowserError."""
        plugin, settings = plugins().get(BROWSER), resolve_settings(base_layers())
        if plugin is None or not settings.get_flag(plugin.enabled_setting):
            raise NoBrowserError(f"There is no browser to look with: the plugin {BROWSER} is off.")
        self._channel, theirs = socket.socketpair()
        with theirs:
            command = [sys.executable, str(plugin.path / SCRIPT), str(theirs.fileno()), *self._options]
            process = Process(
                machine=Machine.current(),
                process_type=Process.TypeChoices.BINARY,
                plugin=BROWSER,
                parent_id=_this_process(),
                cmd=command,
                pwd=str(DATA_FOLDER.root),
            )
            process.launch_env = script_environment(BROWSER, settings, binary_paths(process.machine_id))
            process.launch_fds = (theirs.fileno(),)
            self._process = process.launch(background=True)
        said = self._read(time.monotonic() + LONGEST)
        if said is None or said["type"] != "Ready":
            self.end()
            raise NoBrowserError(self._last_words(process))

    @staticmethod
    def _last_words(process: Process) -> str:
        lines = process.stderr.strip().splitlines()
        return lines[-1] if lines else "The browser did not start."

    def end(self) -> None:
        """End script and browser, and put on record how they ended."""
        process, channel = self._process, self._channel
        self._process = self._channel = None
        self._buffer = b""
        if channel is not None:
            channel.close()
        if process is None:
            return
        process.terminate(GRACE)
        for file in (process.stdout_file, process.stderr_file):
            file.unlink(missing_ok=True)  # their ends are in its row
        for report in self._reports.values():
            Process.from_jsonl({**report, "exit_code": -9}, {"process": process})
        self._reports.clear()

    # --- the conversation -------------------------------------------------------------------------------------

    def _ask(self, record: Mapping[str, JSON], deadline: float) -> dict[str, JSON] | None:
        """What the script says next of the page; None where it has ended, or the time is over."""
        channel = self._channel
        if channel is None:
            return None
        try:
            channel.settimeout(max(0.1, deadline - time.monotonic()))
            channel.sendall(jsonl.dumps(record))
        except OSError:
            self._check_preempted()
            return None
        return self._read(deadline)

    def _read(self, deadline: float) -> dict[str, JSON] | None:
        """The next record that is about a page."""
        while (line := self._line(deadline)) is not None:
            said = jsonl.loads(line)
            if said is not None and said.get("type") == "Process":
                self._read_report(said)
            elif said is not None and said.get("type") in {"Ready", "Asked", "Replayed", "Compared", "NotCompared"}:
                return said
        return None

    def _read_report(self, report: Mapping[str, JSON]) -> None:
        Process.from_jsonl(report, {"process": self._process})
        key = str(report.get("id"))
        if report.get("exit_code") is None:
            self._reports[key] = report
        else:
            self._reports.pop(key, None)

    def _line(self, deadline: float) -> bytes | None:
        """The next line; None where there comes none."""
        channel = self._channel
        while channel is not None and b"\n" not in self._buffer:
            self._check_preempted()
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            if not select.select([channel], [], [], min(left, LOOK_EVERY))[0]:
                continue
            piece = channel.recv(1 << 16)
            if not piece:
                self._check_preempted()
                return None
            self._buffer += piece
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def _check_preempted(self) -> None:
        if self._is_preempted():
            self.end()
            raise PreemptedError


@dataclass(frozen=True, slots=True)
class _Answers:
    """What one page is answered: as the listener would, without a network."""

    folder: Path
    host: str
    scripted: OfflineView | None

    def to(self, said: Mapping[str, JSON]) -> dict[str, JSON]:
        if self.scripted is not None and str(said["url"]).startswith(_origin_of(self.scripted.address)):
            return _answer_with_scripts(self.scripted, said)
        token, _, path = str(said["url"]).removeprefix(f"http://{self.host}/").partition("/")
        place, url, frame = addresses.read(token, path)
        if place is None:
            return _NOTHING
        asked = RecordedRequest(place, url, range=_headers(said).get("range", ""), frame=frame)
        try:
            reply = reply_to(self.folder, asked, apart=True) if is_url(url) else _file(self.folder, place, url)
        except NotThereError:
            return _NOTHING
        allowed = reply.policy(policy(self.host, reply.mimetype, links=True, is_clean=reply.is_clean))
        return _sent(reply, {"content-type": reply.mimetype, "content-security-policy": allowed, **reply.headers})


def _saved_copies(snapshot: Snapshot) -> list[tuple[Format, str]]:
    """Those that may open before the replay, with their paths below the page's folder."""
    kept = kept_formats(snapshot.archiveresult_set.all())
    return [(one, f"{one.plugin}/{one.files[0].name}") for one in kept if one.kind is FormatKind.PAGE][:COPIES]


def _file(folder: Path, place: ReplayContext, path: str) -> Reply:
    """A file of a plugin. NotThereError."""
    with contextlib.closing(open_beneath(folder, split_path(path))) as opened:
        if has_links(opened):
            return linked_copy(opened, place, scripts=False, apart=True)
        if opened.is_folder or opened.size > LARGEST:
            raise NotThereError
        return whole(opened.mimetype, opened.reader(0, opened.size)(opened.size))


def _scripted(folder: Path, snapshot: Snapshot, url: str) -> OfflineView | None:
    """A view of the page with its scripts; None where it is no page of the web."""
    try:
        return OfflineView(folder, snapshot.pk, url)
    except ValueError:
        return None


def _origin_of(address: str) -> str:
    return "/".join([*address.split("/")[:3], ""])


def _answer_with_scripts(view: OfflineView, said: Mapping[str, JSON]) -> dict[str, JSON]:
    """What the listener of script views would send."""
    body = base64.b64decode(str(said["body"]))
    try:
        reply = view.answer(str(said["url"]), str(said["kind"]), str(said["method"]), _headers(said), body)
    except (ForbiddenError, NotThereError):
        return _NOTHING
    return _sent(reply, reply.headers)


def _headers(said: Mapping[str, JSON]) -> dict[str, str]:
    """The headers of a request that matter, their names in lower case."""
    headers = said.get("headers")
    return {name.lower(): str(value) for name, value in headers.items()} if isinstance(headers, dict) else {}


def _sent(reply: Reply, headers: Mapping[str, str]) -> dict[str, JSON]:
    try:
        if reply.size > LARGEST:
            return _NOTHING
        body = base64.b64encode(reply.read(reply.size)).decode()
    finally:
        reply.close()
    return {"status": reply.status, "headers": dict(headers), "body": body}


def _likeness(counts: Mapping[str, JSON]) -> Likeness:
    return Likeness(_counts(counts.get("words")), _counts(counts.get("tiles")))


def _counts(said: JSON) -> tuple[int, int] | None:
    """How many of how many; None where there was nothing to compare with."""
    if not isinstance(said, list) or len(said) != 2:
        return None
    found, wanted = said
    return (int(found), int(wanted)) if isinstance(found, int) and isinstance(wanted, int) and wanted else None


def _this_process() -> UUID | None:
    """The row of the worker that asks."""
    mark = os.environ.get(processes.MARK)
    return UUID(mark) if mark else None
