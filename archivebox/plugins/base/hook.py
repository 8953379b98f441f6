"""What a hook is called with, what it says, which files it writes, and when it has to end.

It prints one JSON record a line on its standard output, and sentences for people on its standard error.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from contextlib import contextmanager, suppress

from archivebox.lib.machine_load import extended, seconds_delayed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    JSON: TypeAlias = dict[str, "JSON"] | list["JSON"] | str | int | float | bool | None
    from collections.abc import Callable, Iterator
    from types import FrameType
    from typing import NoReturn

    from archivebox.plugins.base.cdp import Params


class Hook:
    """The arguments of one run of a hook.

    `options` holds every `--name=value` or `--name value` under its name with `_` for `-`. A value is JSON where it
    begins with `{`, `[` or `"` or is `true`, `false` or `null`; everything else is text as given.
    `--name` alone is true.
    """

    __slots__ = ("crawl_id", "depth", "options", "snapshot_id", "url")

    def __init__(self, options: dict[str, JSON]) -> None:
        self.options = options
        self.url = self.text("url")
        self.snapshot_id = self.text("snapshot_id")
        self.crawl_id = self.text("crawl_id")
        depth = self.text("depth")
        self.depth = int(depth) if depth.isdigit() else 0

    @classmethod
    def from_argv(cls, argv: Sequence[str] | None = None) -> Hook:
        """Read `argv`, or the command line of this process."""
        return cls(_parse(list(sys.argv[1:] if argv is None else argv)))

    def text(self, name: str, default: str = "") -> str:
        """Return an option as text, '' where it was not given or is null."""
        value = self.options.get(name)
        return default if value is None else str(value)


def _parse(arguments: list[str]) -> dict[str, JSON]:
    options: dict[str, JSON] = {}
    waiting = ""  # the option whose value comes next
    for argument in arguments:
        if argument.startswith("--"):
            name, equals, value = argument[2:].partition("=")
            waiting = "" if equals else name.replace("-", "_")
            options[name.replace("-", "_")] = _value(value) if equals else True
        elif waiting:
            options[waiting] = _value(argument)
            waiting = ""
    return options


def _value(text: str) -> JSON:
    """Return what JSON says where the text looks like JSON, else the text."""
    if text[:1] not in ("{", "[", '"') and text not in ("true", "false", "null"):
        return text
    try:
        value: JSON = json.loads(text)
    except ValueError:
        return text
    return value


STDOUT = 1
SKIPPED = 10  # the exit status that says "skipped", with or without a record (contract, What comes of it)


def emit(type: str, **fields: object) -> None:  # noqa: A002  (the record's own word)
    """Print one record, in one write: several processes may share the file, and a signal handler may speak too."""
    line = json.dumps({"type": type, **fields}, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"
    while line:
        line = line[os.write(STDOUT, line) :]


def log(*words: object) -> None:
    """Tell people something, on standard error."""
    print(*words, file=sys.stderr, flush=True)


def ready() -> None:
    """Say that a background hook is at work, or another has done with the page, so that those after it may start."""
    emit("Ready")


def waiting() -> None:
    """Say that this hook waits for somebody else's server, and needs nothing of the machine: the next one may begin."""
    emit("Waiting")


def found(url: str, **fields: object) -> None:
    """Report a URL found on the page; without `depth` it gets this Snapshot's plus one."""
    emit("Snapshot", url=url, **fields)


def patch_snapshot(**fields: object) -> None:
    """Set fields of this hook's own Snapshot; the engine takes an allow-listed set of them."""
    emit("Snapshot", **{"id": Hook.from_argv().snapshot_id, **fields})


def succeeded(output_str: str, output_json: object = None, *, reason: str = "") -> NoReturn:
    """End: there is a result. `output_str` is the main file's name or a short text; `reason`: what it lacks."""
    _end("succeeded", output_str, output_json, 0, reason=reason)


def noresults(output_str: str, output_json: object = None) -> NoReturn:
    """End: it ran, and this page has nothing of the kind."""
    _end("noresults", output_str, output_json, 0)


def skipped(output_str: str, output_json: object = None) -> NoReturn:
    """End: not applicable here, for the reason given."""
    _end("skipped", output_str, output_json, SKIPPED)


def failed(output_str: str, output_json: object = None, *, reason: str = "") -> NoReturn:
    """End, soft: it ran, and the thing was not to be had; it is not tried again. `reason`: a code of the contract."""
    _end("failed", output_str, output_json, 0, reason=reason)


def misconfigured(sentence: str) -> NoReturn:
    """End, hard: nothing will come of trying again before a person has acted on `sentence`."""
    log(sentence)
    _end("failed", sentence, None, 1)


def try_again(sentence: str, output_json: object = None, *, reason: str = "", after: int = 0) -> NoReturn:
    """End, failed for now: what stood in the way may pass by itself, so that the engine tries again later.

    `after`: seconds for which the server wishes to be left alone; 0 where it did not say.
    """
    log(sentence)
    _end("failed", sentence, output_json, 1, retry="later", reason=reason, retry_after=after)


def page_lost(sentence: str) -> NoReturn:
    """End without a result because the live page is gone: again, for nothing, as soon as it has been opened anew."""
    log(sentence)
    _end("failed", sentence, None, 1, retry="new_page")


def _end(status: str, output_str: str, output_json: object, code: int, **more: str | int) -> NoReturn:
    extra = {} if output_json is None else {"output_json": output_json}
    said = {name: word for name, word in more.items() if word}
    emit("ArchiveResult", status=status, output_str=output_str, **extra, **said)
    raise SystemExit(code)


def record_in(line: bytes) -> Params:
    """Return the JSON object in a line; {} where there is none, or only a part of one."""
    try:
        record = json.loads(line)
    except ValueError:
        return {}
    return record if isinstance(record, dict) else {}


def write_atomically(name: str, data: str | bytes, *, secret: bool = False) -> str:
    """Write `data` to `name` (relative to the hook's folder) by a temporary name and a rename; return `name`.

    A reader sees the former file or the whole new one. Text is UTF-8; lone surrogates, which pages do contain, become
    '?'. What is `secret` is for its owner alone, whatever the umask. Raises OSError as `open` does; the temporary file
    is gone then.
    """
    content = data.encode("utf-8", "replace") if isinstance(data, str) else data
    folder, base = os.path.split(name)
    temporary = os.path.join(folder, f".{base}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb", opener=_open_secret if secret else None) as file:
            file.write(content)
        os.replace(temporary, name)
    except BaseException:
        remove(temporary)
        raise
    return name


def _open_secret(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def remove(name: str) -> None:
    """Remove a file that may already be gone."""
    try:
        os.unlink(name)
    except FileNotFoundError:
        return


def sibling(plugin: str) -> str:
    """Return the folder of another plugin of the same Snapshot, Crawl or Binary, which may be absent."""
    return os.path.join(os.pardir, plugin)


class TimeIsOver(BaseException):
    """The hook's own time is over. Not an Exception: nothing on the way may take it for an ordinary failure."""


def on_stop(callback: Callable[[], object]) -> None:
    """Call `callback` on the first TERM or INT, then exit with 0; later ones are ignored, since the end is under way.

    The callback runs in the main thread between two instructions and should be quick: print the final record
    (`succeeded(…)` ends the process itself) or raise, to unwind to a place that knows how to clean up.
    """

    def handle(signum: int, frame: FrameType | None) -> None:  # noqa: ARG001  (the signature is the signal module's)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        callback()
        sys.exit(0)

    signal.signal(signal.SIGTERM, handle)
    signal.signal(signal.SIGINT, handle)


class StopRequest:
    """TERM and INT as something to wait for: readable (for selectors) once asked to stop; true from then on.

    For hooks that work until told to stop: nothing is interrupted in the middle, the loop sees it and winds down.
    """

    def __init__(self) -> None:
        self._asked = False
        self._reader, self._writer = os.pipe()
        signal.signal(signal.SIGTERM, self._handle)
        signal.signal(signal.SIGINT, self._handle)

    def __bool__(self) -> bool:
        return self._asked

    def fileno(self) -> int:
        return self._reader

    def _handle(self, signum: int, frame: FrameType | None) -> None:  # noqa: ARG002
        if not self._asked:
            self._asked = True
            os.write(self._writer, b".")


def set_deadline(seconds: float) -> None:
    """Raise TimeIsOver in the main thread after `seconds`, whatever it waits for then; 0 takes the deadline back.

    On a busy machine it is later, as the engine's own deadline is.
    """
    seconds = max(seconds, 0.0)
    allowed, before = extended(seconds), seconds_delayed()

    def time_is_over(signum: int, frame: FrameType | None) -> None:  # noqa: ARG001
        nonlocal allowed
        more = extended(seconds, seconds_delayed() - before) - allowed
        if more <= 0:
            raise TimeIsOver("the time of this hook is over")
        allowed += more
        signal.setitimer(signal.ITIMER_REAL, more)

    signal.signal(signal.SIGALRM, time_is_over)
    signal.setitimer(signal.ITIMER_REAL, allowed)


MEMORY, MEMORY_PER_BYTE = 1 << 30, 64  # bytes of address space; Trafilatura holds some trees of 10 times the page


@contextmanager
def within_memory(length: int, *errors: type[Exception]) -> Iterator[None]:
    """Read a document of so many bytes; the hook ends, failed for good, where that takes more than it is worth.

    `errors`: by which a parser says that it got no memory, beside MemoryError.
    """
    none_left: tuple[type[Exception], ...] = (MemoryError, *errors)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    with suppress(ValueError, OSError):  # macOS takes no such limit, and a lower one may be there
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY + MEMORY_PER_BYTE * length, hard))
    try:
        yield
    except none_left:
        failed("reading this page would take too much memory: its elements are nested too deeply or closed incorrectly")
    finally:  # a program that this hook starts may want more
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
