"""Hooks that do what they should not: deaf, forking, flooding, silent, in bulk."""

import contextlib
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from archivebox.lib.files import remove_tree
from tests.integration.engine.driver import Collection, identity_of
from tests.marks import first_by_default

FORKER = '''
"""Forks twice, the second time into a session of its own, {title}."""
import os, sys, time

def grandchild():
    fd = os.open(os.environ["DATA_DIR"] + "/ledger", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    {exec}
    os.write(fd, b"stray %d\\n" % os.getpid())
    while True:
        time.sleep(60)

read, write = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.close(1)
        os.write(write, b"x")
        grandchild()
    os._exit(0)
os.wait()
os.read(read, 1)
{end}
'''
CLEAN = (
    'os.execve("/bin/sh", ["sh", "-c", "echo stray $$ >&%d; exec sleep 3600" % fd], {}) '
    "if not os.set_inheritable(fd, True) else None"
)


def strays(made: Collection) -> list[int]:
    return [int(line.split()[1]) for line in made.ledger if line.startswith("stray")]


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.default
@first_by_default(1, "stays", [False, True], ids=["hook-goes", "hook-stays"])
def test_what_a_hook_forked_twice_ends_with_the_seal(each_mode: Collection, stays: bool) -> None:
    end = "time.sleep(3600)" if stays else "sys.exit(0)"
    body = FORKER.format(title="and " + ("stays" if stays else "goes"), exec="", end=end)
    each_mode.plugin("forker", {"on_Snapshot__10_forker.bg.py": body})
    each_mode.plugin(
        "waits", {"on_Snapshot__20_waits.sh": 'until grep -q stray "$DATA_DIR/ledger"; do sleep 0.05; done\n'}
    )
    each_mode.watch()
    each_mode.add(FORKER_TIMEOUT=3)  # one that stays is cut off, runs again, and counts as finite then
    each_mode.wait("the stray", lambda: strays(each_mode))
    each_mode.wait_sealed()
    assert not [pid for pid in strays(each_mode) if runs(pid)]
    each_mode.leave()


def test_what_a_timed_out_hook_forked_ends_with_it(each_mode: Collection) -> None:
    body = FORKER.format(title="and sleeps for ever", exec="", end="time.sleep(3600)")
    each_mode.plugin("forker", {"on_Snapshot__10_forker.py": body})
    gone = "while kill -0 $p && ! grep -q 'State:.Z' /proc/$p/status; do sleep 0.05; done\necho gone >> ledger.txt\n"
    each_mode.plugin("later", {"on_Snapshot__20_later.sh": 'p=$(sed -n "s/stray //p" "$DATA_DIR/ledger")\n' + gone})
    each_mode.run(each_mode.add(FORKER_TIMEOUT=3))
    assert each_mode.results()["forker"]["reason"] == "timeout"
    assert each_mode.results()["later"]["status"] == "succeeded", "the stray outlived the hook's time"
    assert not [pid for pid in strays(each_mode) if runs(pid)]


DEAF_FORKER = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
while True:
    if os.fork():
        os._exit(0)
    os.setsid()
    time.sleep(0.5)
"""
FORTY_DEAF = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for _ in range(40):
    if os.fork() == 0:
        os.setsid()
        time.sleep(3600)
"""


def of_this_test(made: Collection) -> list[int]:
    """Processes in whose command line the collection stands, beside those that bear its mark."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if f"stray-of-{made.root}" in path.read_bytes().decode(errors="replace"):
                found.append(int(path.parent.name))
    return found


@pytest.mark.parametrize("body", [DEAF_FORKER, FORTY_DEAF], ids=["forks-for-ever", "forty"])
def test_deaf_strays_without_our_mark_are_ended_side_by_side(forked: Collection, body: str) -> None:
    """One that is another process every half second, or so many that their graces one after the other are too long."""
    (forked.base / "stray.py").write_text(body)
    command = f'env -i setsid "{sys.executable}" "{forked.base}/stray.py" "stray-of-{forked.root}" >&- 2>&- &\n'
    forked.plugin("leaves", {"on_Snapshot__10_leaves.sh": command + "sleep 0.7\n"})
    forked.add()
    forked.run_until("a stray", lambda: of_this_test(forked))
    left = of_this_test(forked)
    assert bool(left) == (forked.mode == "portable"), "where nobody is a subreaper, nobody can know whose they are"
    while left:
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        left = of_this_test(forked)
    assert {row["exit_code"] for row in forked.processes(worker_type="worker")} == {0}


@pytest.mark.parametrize("way", ["forked", "cold"])
def test_a_stray_without_our_mark_is_listed_under_its_worker_and_ended_at_the_seal(
    forked: Collection, way: str
) -> None:
    forked.mode = way
    body = FORKER.format(title="with an empty environment", exec=CLEAN, end="sys.exit(0)")
    forked.plugin("forker", {"on_Snapshot__10_forker.py": body})
    forked.plugin(
        "waits", {"on_Snapshot__20_waits.sh": 'until grep -q stray "$DATA_DIR/ledger"; do sleep 0.05; done\n'}
    )
    forked.watch()
    forked.add()
    forked.wait("the stray", lambda: strays(forked))
    forked.wait_sealed()
    (pid,) = strays(forked)
    assert not runs(pid)
    forked.leave()
    row = next(row for row in forked.processes(process_type="binary") if row["pid"] == pid)
    worker = forked.row("Process", "pk", worker_type="worker")
    assert row["parent_id"] == worker["pk"]
    assert row["status"] == "exited"
    assert row["exit_code"] == -signal.SIGTERM


@pytest.mark.default
def test_a_background_hook_that_is_deaf_to_term_is_killed(each_mode: Collection) -> None:
    deaf = "trap '' TERM\necho ready\nwhile :; do sleep 0.1; done\n"
    waits = {"on_Snapshot__11_waits.sh": "exit 0\n"}  # until the trap is set
    each_mode.plugin("deaf", {"on_Snapshot__10_deaf.daemon.bg.sh": deaf, **waits})
    each_mode.settings["DEAF_TIMEOUT"] = "600"
    each_mode.run(each_mode.add())
    (run,) = [hook for hook in each_mode.hooks("deaf") if "daemon" in hook["hook_name"]]
    assert (run["exit_code"], run["end_reason"]) == (-signal.SIGKILL, "sealed")


def test_a_flood_is_cut_and_harms_nobody(forked: Collection) -> None:
    """100 MB of lines, then a record: the record counts, the disk keeps the first megabytes alone."""
    flood = 'head -c 100000000 /dev/zero | tr "\\0" x | fold -w 999\necho\n'
    said = json.dumps({"type": "ArchiveResult", "status": "succeeded", "output_str": "after the flood"})
    forked.plugin("flood", {"on_Snapshot__10_flood.sh": f"{flood}echo '{said}'\n", "on_Snapshot__11_by.sh": "exit 0\n"})
    forked.run(forked.add(HOOK_OUTPUT_MAX=2_000_000))
    result = forked.results()["flood"]
    assert (result["status"], result["output_str"]) == ("succeeded", "after the flood")
    (run,) = forked.hooks("flood")
    assert run["stdout_size"] > 100_000_000
    assert run["output_cut"]
    assert run["stdout"].rstrip().endswith(said)
    (log,) = forked.root.glob("users/*/snapshots/*/*/*/.hooks/*flood*.stdout.log")
    assert log.stat().st_size == run["stdout_size"], "a log that is being written is never truncated"
    assert log.stat().st_blocks * 512 < 30_000_000


DEEP = """
import os
for _ in range(1200):
    os.mkdir("d")
    os.chdir("d")
open("kept", "w").write("x")
"""


def test_folders_in_each_other_are_listed_however_deep(forked: Collection) -> None:
    """Deeper than recursion goes."""
    forked.plugin("deep", {"on_Snapshot__10_deep.py": DEEP})
    forked.run(forked.add())
    result = forked.results()["deep"]
    remove_tree(next(forked.root.glob("users/*/snapshots/*/*/*/deep")))  # pytest could not
    assert (result["status"], list(result["output_files"])) == ("succeeded", ["d/" * 1200 + "kept"])
    assert {row["exit_code"] for row in forked.processes(worker_type="worker")} == {0}


@pytest.mark.default
def test_any_bytes_are_tolerated(forked: Collection) -> None:
    said = json.dumps({"type": "ArchiveResult", "status": "succeeded", "output_str": "end"})
    body = f"""
import os, sys
out = sys.stdout.buffer
out.write(os.urandom(100_000) + b"\\n")
out.write(b"\\0\\0\\0\\n{{\\"type\\": \\0}}\\n\\xff\\xfe{{}}\\n")
out.write(b'{{"type": "Tag", "name": "' + b"x" * 2_000_000 + b'"}}\\n')
out.write(b"[" * 50_000 + b"\\n" + b'{{"a":' * 50_000 + b"\\n")
out.write(b'{{"type": 5}}\\n{{"type": "Tag", "name": null}}\\n{{"type": "Nobody", "knows": 1}}\\n')
sys.stderr.buffer.write(b"\\0\\xff" * 5000)
out.write({said!r}.encode())
"""
    forked.plugin("noise", {"on_Snapshot__10_noise.py": body})
    forked.run(forked.add())
    result = forked.results()["noise"]
    assert (result["status"], result["output_str"]) == ("succeeded", "end")
    (run,) = forked.hooks("noise")
    assert run["stdout"].endswith(said)
    assert not forked.rows("Tag")


def test_fifty_background_hooks_at_once(each_mode: Collection) -> None:
    """Each waits for all others to be there, and reports when it is told to stop."""
    body = (
        'trap \'echo "{\\"type\\": \\"ArchiveResult\\", \\"status\\": \\"succeeded\\"}"; exit 0\' TERM\n'
        'echo here >> "$DATA_DIR/ledger"\nwhile :; do sleep 0.2; done\n'
    )
    each_mode.plugin("many", {f"on_Snapshot__{10 + n % 10}_m{n:02}.bg.sh": body for n in range(50)})
    wait = 'until [ "$(grep -c here "$DATA_DIR/ledger")" = 50 ]; do sleep 0.1; done\n'
    each_mode.plugin("all", {"on_Snapshot__20_all.sh": wait})
    each_mode.settings["SEAL_GRACE"] = "60"
    each_mode.run(each_mode.add())
    results = each_mode.results()
    assert {row["status"] for name, row in results.items() if name != "all"} == {"succeeded"}
    assert len(results) == 51
    assert {row["exit_code"] for row in each_mode.processes(process_type="hook")} == {0}


@pytest.mark.slow
def test_a_thousand_hooks_on_one_file_system(forked: Collection) -> None:
    body = 'echo "$1" > page.txt\necho "$ARCHIVEBOX_PROCESS_ID" >> "$DATA_DIR/ledger"\n'
    forked.plugin("many", {f"on_Snapshot__{n:02}_n{n}.sh": body for n in range(50)})
    urls = [f"http://{host}.test/{page}" for host in "abcde" for page in range(4)]
    forked.run(forked.add(*urls), seconds=240)
    assert len(forked.ledger) == len(set(forked.ledger)) == 1000
    done = forked.rows("ArchiveResult", "status", "process_id", plugin="many")
    assert [row["status"] for row in done] == ["succeeded"] * 1000
    assert {row["process_id"] for row in done} == set(forked.ledger)
    assert forked.actor.ask("is_intact") == "ok"


def test_a_hook_ended_from_outside_is_cancelled_and_the_rest_goes_on(each_mode: Collection) -> None:
    each_mode.plugin(
        "stuck", {"on_Snapshot__10_stuck.sh": 'echo here >> "$DATA_DIR/ledger"\nwhile :; do sleep 0.1; done\n'}
    )
    each_mode.plugin("rest", {"on_Snapshot__20_rest.sh": "exit 0\n"})
    each_mode.watch()
    each_mode.add()
    each_mode.wait_ledger("here")
    (run,) = each_mode.wait("its row", lambda: each_mode.hooks("stuck", status="running"))
    each_mode.actor.ask("kill_process", key=run["pk"])
    each_mode.wait_sealed()
    each_mode.leave()
    results = each_mode.results()
    assert (results["stuck"]["status"], results["stuck"]["reason"]) == ("skipped", "cancelled")
    assert results["rest"]["status"] == "noresults"
    assert each_mode.hooks("stuck")[0]["end_reason"] == "cancelled"
    assert not identity_of(run).is_alive()


STOPS_PARENT = """
import os, signal
with open(os.environ["DATA_DIR"] + "/ledger", "a") as ledger:
    ledger.write("stops\\n")
os.kill(os.getppid(), signal.SIGSTOP)
"""


def test_a_hook_that_stops_its_fork_server_holds_up_no_page(forked: Collection) -> None:
    """Its own end is told of by nobody, nor could the next hook be forked."""
    forked.mode = "forked"
    forked.settings["ARCHIVEBOX_LEASE_SECONDS"] = "6"
    forked.plugin("stops", {"on_Snapshot__10_stops.py": STOPS_PARENT, "on_Snapshot__11_beside.py": "print('beside')\n"})
    forked.plugin("later", {"on_Snapshot__20_later.py": "print('later')\n"})
    forked.run(forked.add())
    assert {row["status"] for row in forked.results().values()} == {"noresults"}
    assert forked.ledger == ["stops"]
    assert [row["exit_code"] for row in forked.processes(process_type="hook")] == [0, 0, 0]
