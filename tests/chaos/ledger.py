"""The plugin whose hooks keep a ledger outside the database, and what that ledger tells."""

import zlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

PLUGIN = "ledger"
CODES = (0, 0, 0, 10, 3, 7, 42, 99)
"""Exit statuses that hooks end with; which one follows from the page and the hook alone."""

PYTHON = """
import json, os, sys, time, zlib

ids = json.loads(os.environ["EXTRA_CONTEXT"])
hook = os.path.basename(sys.argv[0] or __file__)
key = (ids["snapshot_id"] + "/" + hook).encode()
CODES = {codes}

def note(word):
    line = "%s %s %s %s\\n" % (word, os.environ["ARCHIVEBOX_PROCESS_ID"], ids["snapshot_id"], hook)
    fd = os.open(os.environ["DATA_DIR"] + "/ledger", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(fd, line.encode())
    os.close(fd)

note("start")
time.sleep({seconds} + zlib.crc32(b"t" + key) % 100 / 100 * {spread})
note("end")
os._exit(CODES[zlib.crc32(key) % len(CODES)])
"""
SHELL = """
hook=$(basename "$0")
snapshot=$(printf %s "$EXTRA_CONTEXT" | sed 's/.*"snapshot_id": "\\([^"]*\\)".*/\\1/')
note() {{ echo "$1 $ARCHIVEBOX_PROCESS_ID $snapshot $hook" >> "$DATA_DIR/ledger"; }}
note start
sleep {seconds}
note end
exit {code}
"""
SHELL_CODES = {"on_Snapshot__12_sh.sh": 0, "on_Snapshot__41_sh.sh": 5, "on_Snapshot__52_sh.sh": 10}
PYTHON_HOOKS = {
    "on_Snapshot__10_quick.py": (0.0, 0.2),
    "on_Snapshot__11_some.py": (0.1, 1.0),
    "on_Snapshot__20_long.finite.bg.py": (2.0, 4.0),
    "on_Snapshot__30_turn.py": (0.1, 0.4),
    "on_Snapshot__31_turn.py": (0.1, 0.4),
    "on_Snapshot__50_one.py": (0.0, 0.5),
    "on_Snapshot__51_two.py": (0.0, 0.5),
    "on_Snapshot__60_late.finite.bg.py": (0.5, 2.0),
    "on_Snapshot__90_last.py": (0.0, 0.3),
}
HOOKS = (*PYTHON_HOOKS, *SHELL_CODES)
PAGE_HOOKS = ("on_Snapshot__50_one.py", "on_Snapshot__51_two.py", "on_Snapshot__52_sh.sh")
"""Those of step 5: where nothing else is said of them, they work on the live page."""


def scripts() -> dict[str, str]:
    """The hooks of the plugin, by file name."""
    python = {
        name: PYTHON.format(codes=CODES, seconds=seconds, spread=spread)
        for name, (seconds, spread) in PYTHON_HOOKS.items()
    }
    shell = {name: SHELL.format(seconds=0.3, code=code) for name, code in SHELL_CODES.items()}
    daemon = {"on_Crawl__10_browser.daemon.bg.sh": "trap 'exit 0' TERM\necho ready\nwhile :; do sleep 1; done\n"}
    return python | shell | daemon


def code_of(snapshot_id: str, hook: str) -> int:
    """The exit status this hook of this page ends with, if nobody kills it."""
    if hook in SHELL_CODES:
        return SHELL_CODES[hook]
    return CODES[zlib.crc32(f"{snapshot_id}/{hook}".encode()) % len(CODES)]


def status_of(code: int) -> str:
    """What a hook without record and files comes to by the contract, with one attempt."""
    return {0: "noresults", 10: "skipped"}.get(code, "failed")


@dataclass
class Ledger:
    """What the hooks themselves wrote down: the process ids that started and that came to their end, by result."""

    started: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    ended: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    torn: int = 0

    @classmethod
    def read(cls, path: Path) -> "Ledger":
        ledger = cls()
        for line in path.read_text().splitlines():
            words = line.split()
            if len(words) != 4 or words[0] not in {"start", "end"}:
                ledger.torn += 1
                continue
            word, process_id, snapshot_id, hook = words
            where = ledger.started if word == "start" else ledger.ended
            where.setdefault((snapshot_id, hook), []).append(process_id)
        return ledger

    def twice(self) -> Iterable[tuple[tuple[str, str], list[str]]]:
        """Results whose hook came to its end more than once, with the processes."""
        return ((key, ids) for key, ids in self.ended.items() if len(ids) > 1)

    def counts(self) -> Counter[str]:
        return Counter(
            starts=sum(map(len, self.started.values())), ends=sum(map(len, self.ended.values())), torn=self.torn
        )
