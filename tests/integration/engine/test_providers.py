"""How the engine asks providers for a program: in the order that is named, and until one has it."""

import fcntl
import json
import subprocess
import sys

import pytest

from tests.integration.engine.driver import Collection

ASKED = 'printf "%s\\n" "$(basename "$PWD") $*" >> "$DATA_DIR/ledger"\n'
LACKS = ASKED + "echo 'nothing of that name' >&2\nexit 1\n"
FOUND = {"type": "Binary", "name": "tool", "abspath": "/bin/true", "version": "9.1"}
HAS = f"{ASKED}echo '{json.dumps(FOUND)}'\n"


def cli(made: Collection, *words: str) -> tuple[int, str]:
    """Type a command; its status, and the line that says which version became which."""
    command = [sys.executable, "-m", "archivebox", *words]
    done = subprocess.run(command, env=made.env, cwd=made.root, capture_output=True, text=True, check=False)
    changes = [line for line in done.stderr.splitlines() if "→" in line]
    return done.returncode, "".join(changes)


def providers(made: Collection, order: str, **scripts: str) -> None:
    """Providers by name, and a plugin that needs ``tool`` of them."""
    for name, script in scripts.items():
        made.plugin(name, {f"on_Binary__50_install_using_{name}_provider.sh": script})
    tool = {"type": "Binary", "name": "tool", "binproviders": order, "overrides": {"pear": {"packages": ["tool-9"]}}}
    made.plugin("wants", {"on_Snapshot__10_wants.sh": "echo kept > kept.txt\n"}, binaries=[tool])


@pytest.mark.default
@pytest.mark.database
def test_providers_are_asked_in_the_named_order_until_one_has_it(forked: Collection) -> None:
    providers(forked, "pear,apple,melon", apple=HAS, melon=HAS, pear=LACKS)
    forked.run(forked.add())
    assert [line.partition(" ")[0] for line in forked.ledger] == ["pear", "apple"]
    row = forked.row("Binary", "status", "abspath", "version", name="tool")
    assert row == {"status": "succeeded", "abspath": "/bin/true", "version": "9.1"}
    assert forked.results()["wants"]["status"] == "succeeded"


def test_a_provider_is_asked_once_what_it_works_with_itself_is_there(forked: Collection) -> None:
    """npm is installed by apt, which takes longer than all that npm is wanted for has been asked for."""
    slow = f"sleep 2\n{HAS}".replace('"tool"', '"pip"')
    tool = {"type": "Binary", "name": "pip", "binproviders": "apple"}
    forked.plugin("pear", {"on_Binary__40_install_using_pear_provider.sh": HAS}, binaries=[tool])
    providers(forked, "pear", apple=slow)
    forked.run(forked.add())
    assert [line.partition(" ")[0] for line in forked.ledger] == ["apple", "pear"]
    assert forked.results()["wants"]["status"] == "succeeded"


@pytest.mark.database
def test_what_a_crawls_hook_asks_for_is_there_before_those_after_it(forked: Collection) -> None:
    """Both earlier dialects have a hook that asks for a library, and a later one that cannot begin without."""
    forked.plugin("pear", {"on_Binary__40_install_using_pear_provider.sh": f"sleep 1\n{HAS}"})
    wish = {"type": "Binary", "name": "tool", "binproviders": "pear"}
    rest = "trap 'exit 0' TERM\nwhile :; do sleep 0.05; done\n"
    hooks = {
        "on_Crawl__60_wish.sh": f"echo '{json.dumps(wish)}'\n",
        "on_Crawl__90_launch.bg.sh": 'echo "launch" >> "$DATA_DIR/ledger"\n' + rest,
        "on_Snapshot__10_page.sh": "exit 0\n",
    }
    forked.plugin("browser", hooks)
    forked.run(forked.add())
    assert [line.partition(" ")[0] for line in forked.ledger] == ["pear", "launch"]


def test_a_way_that_is_unknown_here_is_the_hooks_own_matter(forked: Collection) -> None:
    """Its first line may name a runner that installs the program."""
    asked = [{"type": "Binary", "name": "no-such-program", "binproviders": "env,cargo"}]
    forked.plugin("wants", {"on_Snapshot__10_wants.sh": "echo kept > kept.txt\n"}, binaries=asked)
    forked.run(forked.add())
    assert forked.results()["wants"]["status"] == "succeeded"


def test_a_provider_is_told_of_whom_what_and_how(forked: Collection) -> None:
    providers(forked, "pear", pear=HAS)
    forked.run(forked.add())
    row = forked.row("Binary", "pk", "machine_id", name="tool")
    (line,) = forked.ledger
    words = line.split(" --")[1:]
    given = dict(word.split("=", 1) for word in words)
    assert json.loads(given.pop("overrides")) == {"pear": {"packages": ["tool-9"]}}
    assert given == {
        "binary-id": row["pk"],
        "machine-id": row["machine_id"],
        "name": "tool",
        "binproviders": "pear",
    }


def test_what_nobody_has_says_what_each_answered(forked: Collection) -> None:
    providers(forked, "pear,apple", apple=LACKS, pear=LACKS)
    forked.run(forked.add())
    row = forked.row("Binary", "status", "message", name="tool")
    assert row["status"] == "failed"
    assert row["message"].splitlines() == ["pear: nothing of that name", "apple: nothing of that name"]
    assert forked.results()["wants"]["reason"] == "missing_binary:tool"


def test_to_upgrade_those_that_install_are_asked_first_and_told_so(forked: Collection) -> None:
    finder = {"x-provider": {"installs": "nothing"}}
    forked.plugin("apple", {"on_Binary__10_install_using_apple_provider.sh": HAS}, config=finder)
    providers(forked, "apple,pear", pear=ASKED + f"echo '{json.dumps({**FOUND, 'version': '9.2'})}'\n")
    forked.run(forked.add())
    assert forked.row("Binary", "version", name="tool") == {"version": "9.1"}
    assert cli(forked, "install", "--upgrade", "tool") == (0, "tool: 9.1 → 9.2")
    asked, told = forked.ledger
    assert (asked.split()[0], "--upgrade=true" in asked) == ("apple", False)
    assert (told.split()[0], "--upgrade=true" in told) == ("pear", True)


def test_what_cannot_be_upgraded_stays_as_it_is_and_says_why(forked: Collection) -> None:
    providers(forked, "pear", pear=f'[[ "$*" == *upgrade* ]] && {{ {LACKS} }}\n{HAS}')
    forked.run(forked.add())
    assert cli(forked, "install", "--upgrade", "tool") == (0, "")
    row = forked.row("Binary", "status", "version", "message", name="tool")
    assert row == {"status": "succeeded", "version": "9.1", "message": "pear: nothing of that name"}


@pytest.mark.database
def test_a_worker_that_ends_waits_no_longer_for_who_installs_elsewhere(forked: Collection) -> None:
    providers(forked, "pear", pear=HAS)
    lock = forked.base / "lib" / "locks" / "binary-tool"
    lock.parent.mkdir(parents=True)
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        crawl = forked.add()
        forked.watch()
        forked.wait("somebody is at it", lambda: forked.rows("Binary", "pk", name="tool", owner__isnull=False))
        forked.leave()
        assert [row["exit_code"] for row in forked.processes(worker_type="worker")] == [0]
        assert forked.row("Binary", "status", "attempts", name="tool") == {"status": "queued", "attempts": 0}
        assert forked.ledger == []
    forked.run(crawl)
    assert forked.results()["wants"]["status"] == "succeeded"


@pytest.mark.parametrize("name", ["id", "binary_id", "machine_id"])
def test_a_provider_reports_only_the_program_it_was_asked_for(forked: Collection, name: str) -> None:
    """By its own ids it may name it; a record with those of another has no effect."""
    foreign = {**FOUND, name: "00000000-0000-7000-8000-000000000000"}
    words = 'for word; do case "$word" in --binary-id=*) b=${word#*=};; --machine-id=*) m=${word#*=};; esac; done\n'
    own = f'{words}printf \'{{"type":"Binary","id":"%s","machine_id":"%s",{json.dumps(FOUND)[1:]}\\n\' "$b" "$m"\n'
    providers(forked, "pear,apple", pear=f"echo '{json.dumps(foreign)}'\n", apple=own)
    forked.run(forked.add())
    row = forked.row("Binary", "status", "abspath", name="tool")
    assert row == {"status": "succeeded", "abspath": "/bin/true"}
    assert len(forked.hooks("install_using_apple_provider")) == 1, "the first provider's record was refused"
