"""Owns three hooks that wait until a test lets them end, and what is asked of them after a death."""

from archivebox.lib.processes import ProcessIdentity
from tests.integration.engine.driver import Collection, Row, identity_of

WAITS = """
import os, sys, time
def note(word):
    fd = os.open(os.environ["DATA_DIR"] + "/ledger", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(fd, word.encode() + b"\\n")
note("{name}-starts")
while not os.path.exists(os.environ["DATA_DIR"] + "/go"):
    time.sleep(0.02)
note("{name}-ends")
sys.exit({code})
"""
CODES = {"front": 7, "back": 8, "shell": 9}
BY_ITSELF = {name: (code, "exited") for name, code in CODES.items()}


def begin(made: Collection, *, workers: int = 1) -> None:
    """Three hooks that wait for ``go`` and end in statuses of their own: Python and shell, fore- and background."""
    made.settings |= {"MAX_ATTEMPTS": "1", "TIMEOUT": "600"}
    made.plugin("before", {"on_Snapshot__10_before.sh": 'echo before >> "$DATA_DIR/ledger"\n'})
    side_by_side: dict[str, object] = {"on_Snapshot__20_front.py": {}, "on_Snapshot__22_shell.sh": {}}
    made.plugin(
        "waits",
        {
            "on_Snapshot__20_front.py": WAITS.format(name="front", code=CODES["front"]),
            "on_Snapshot__21_back.finite.bg.py": WAITS.format(name="back", code=CODES["back"]),
            "on_Snapshot__22_shell.sh": (
                'note() { echo "$1" >> "$DATA_DIR/ledger"; }\nnote shell-starts\n'
                f'until [ -e "$DATA_DIR/go" ]; do sleep 0.05; done\nnote shell-ends\nexit {CODES["shell"]}\n'
            ),
        },
        config={"x-hooks": side_by_side},
    )
    made.plugin("after", {"on_Snapshot__30_after.sh": 'echo after >> "$DATA_DIR/ledger"\n'})
    made.add()
    if workers > 1:
        made.watch_with(workers)
    else:
        made.watch()
    for name in CODES:
        made.wait_ledger(f"{name}-starts")
    made.wait("what has ended is on record", lambda: made.results()["before"]["status"] == "noresults")


def alive(made: Collection, kind: str) -> list[Row]:
    rows = made.processes(worker_type=kind) if kind in {"worker", "forkserver"} else made.processes(process_type=kind)
    return [row for row in rows if row["pid"] and runs(identity_of(row))]


def runs(identity: ProcessIdentity) -> bool:
    """A zombie does not: who reaps an orphan, and when, is pid 1's affair where we are no subreaper."""
    return identity.is_alive() and not identity.is_zombie()


def on_record(made: Collection, count: int = len(CODES)) -> list[Row]:
    """The rows of the hooks that wait, once each has one."""
    rows = made.processes(process_type="hook", status="running")
    return rows if len(rows) == count else []


def one_alive(made: Collection, kind: str) -> ProcessIdentity:
    (row,) = made.wait(f"one live {kind}", lambda: alive(made, kind))
    return identity_of(row)


def codes(made: Collection) -> dict[str, tuple[int | None, str]]:
    return {name: (made.hooks(name)[-1]["exit_code"], made.hooks(name)[-1]["end_reason"]) for name in CODES}


def check_ends(made: Collection) -> None:
    """Each has ended once, with its own exit code, seen by whoever adopted it.

    Where nobody is a subreaper nobody sees how another's child ended: the row says so, and the hook has run again.
    """
    assert codes(made) == BY_ITSELF
    if made.mode != "portable":
        assert sorted(made.ledger) == once_each()
        return
    assert {row["end_reason"] for name in CODES for row in made.hooks(name)[:-1]} == {"lost"}
    again = [f"{name}-{word}" for name in CODES for word in ("starts", "ends")]
    assert sorted(made.ledger) == sorted([*once_each(), *again])


def finish(made: Collection) -> None:
    (made.root / "go").touch()
    made.wait_sealed()
    made.leave()


def once_each() -> list[str]:
    return sorted(["before", "after", *(f"{name}-{word}" for name in CODES for word in ("starts", "ends"))])
