"""What only an administrator may install is asked for once, at the terminal, before the work begins.

The commands run as a user without rights, at a terminal of their own. A program named sudo stands first on their PATH:
it writes down what it is called with, and answers as the test says.
"""

from __future__ import annotations

import json
import os
import pty
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests.acceptance.cli.conftest import CHECKOUT, environment
from tests.empty import make_empty

pytestmark = [
    pytest.mark.skipif(shutil.which("apt-get") is None, reason="this machine has no apt-get"),
]

URL = "https://example.com/page"
IS_ROOT = os.geteuid() == 0
NOBODY = 65534
ASKS = '[ "$1" = -n ] && exit 1'
REFUSES = f"{ASKS}\necho 'sudo: 3 incorrect password attempts' >&2\nexit 1"
READS = f"{ASKS}\nprintf 'Password: ' >/dev/tty\nread word </dev/tty\n[ \"$word\" = right ] || exit 1"
SECONDS = 120.0
NO_NETWORK = {"PIP_NO_INDEX": "1"}
UNPRIVILEGED = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
# The interpreter may lie in root's home: these may look into closed folders, and are nobody all the same.
LOOKING = [[], ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"],
           ["--inh-caps=+dac_override", "--ambient-caps=+dac_override"]]  # fmt: skip


@cache
def as_nobody() -> list[str]:
    """What goes in front of a command so that an unprivileged user runs it."""
    if not IS_ROOT:
        return []
    for more in LOOKING if shutil.which("setpriv") else ():
        start = [*UNPRIVILEGED, *more]
        probe = [*start, sys.executable, "-c", "import archivebox, os, sys; assert os.geteuid(); open(sys.executable)"]
        if subprocess.run(probe, cwd=CHECKOUT, capture_output=True, check=False).returncode == 0:
            return start
    pytest.skip("nobody else than root can start this Python")


@dataclass(frozen=True)
class Seen:
    """A command that has ended, and what its terminal showed."""

    code: int
    text: str


@dataclass(frozen=True)
class Person:
    """Somebody without rights at a terminal, with a collection and a folder of programs."""

    home: Path
    start: list[str]

    @property
    def programs(self) -> Path:
        return self.home / "programs"

    @property
    def environment(self) -> dict[str, str]:
        path = f"{self.programs}:{os.environ['PATH']}"
        home, lib = str(self.home), str(self.home / "lib")
        return {
            **environment(self.home),
            "PATH": path,
            "HOME": home,
            "LIB_DIR": lib,
            "TMPDIR": home,
            "TERM": "dumb",
            **NO_NETWORK,
        }

    def place(self, name: str, script: str) -> None:
        path = self.programs / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def sudo(self, script: str) -> None:
        """Written down are the arguments of each call but those that only ask whether a password is needed."""
        note = f'[ "$1" = -n ] || printf "%s\\n" "$*" >> {self.home}/asked\n[ "$1" = -n ] && echo >> {self.home}/looked'
        self.place("sudo", f"{note}\n{script}")

    @property
    def asked(self) -> list[str]:
        """Every call of sudo that was to install something."""
        path = self.home / "asked"
        return path.read_text().splitlines() if path.exists() else []

    def plugin(self, name: str, program: str, **wish: object) -> None:
        """A plugin whose one hook needs the program; by default from the PATH, else from Debian."""
        folder = self.home / "data" / "plugins" / name
        folder.mkdir(parents=True)
        (folder / f"on_Snapshot__60_{name}.sh").write_text(f"#!/bin/bash\n{program} > page.txt\n")
        line = {"type": "Binary", "name": program, "binproviders": "env,apt", **wish}
        (folder / "binaries.jsonl").write_text(json.dumps(line) + "\n")

    def words(self, *words: str) -> list[str]:
        return [*self.start, sys.executable, "-m", "archivebox", *words]

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """A command without a terminal."""
        return subprocess.run(
            self.words(*words), cwd=self.home, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=SECONDS, check=False,
        )  # fmt: skip

    def type(self, *words: str, then: str = "", after: str = "Password: ", pipe: bool = False) -> Seen:
        """A command at a terminal of its own; ``then`` is typed once it shows ``after``. ``pipe``: stdout is none."""
        command = self.words(*words)
        if pipe:
            command = ["sh", "-c", '"$@" | cat > piped', "sh", *command]
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.home)
            os.execvpe(command[0], command, self.environment)
        try:
            text = _converse(terminal, then, after)
        finally:
            os.close(terminal)  # hangs up on whatever is left
            code = os.waitstatus_to_exitcode(_end(pid))
        return Seen(code, text)

    def installs(self, *names: str) -> str:
        """Lines for sudo that make programs of these names, as apt would."""
        paths = [self.programs / name for name in names]
        if IS_ROOT:
            os.chown(self.programs, NOBODY, NOBODY)
        return "\n".join(f"printf '#!/bin/sh\\necho 1.0\\n' > {path}; chmod 755 {path}" for path in paths)

    def binary(self, name: str) -> dict[str, object]:
        rows = [json.loads(line) for line in self.run("binary", "list").stdout.splitlines()]
        return next(row for row in rows if row["name"] == name)


def _converse(terminal: int, then: str, after: str) -> str:
    """All that is shown until the command has let go of the terminal."""
    shown, deadline = b"", time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        if not select.select([terminal], [], [], 1.0)[0]:
            continue
        try:
            chunk = os.read(terminal, 65536)
        except OSError:  # what Linux answers when the other side is closed
            chunk = b""
        if not chunk:
            return shown.decode()
        shown += chunk
        if then and after.encode() in shown:
            os.write(terminal, then.encode())
            then = ""
    raise AssertionError(f"still at it after {SECONDS:g} s: {shown.decode()}")


def _end(pid: int) -> int:
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return status
        time.sleep(0.05)
    os.kill(pid, signal.SIGKILL)
    return os.waitpid(pid, 0)[1]


def give_to_nobody(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        os.chown(path, NOBODY, NOBODY)


@pytest.fixture
def person() -> Iterator[Person]:
    start = as_nobody()
    with tempfile.TemporaryDirectory(prefix="archivebox-person-") as folder:  # pytest's own are closed to others
        somebody = Person(Path(folder), start)
        somebody.programs.mkdir()
        if IS_ROOT:
            os.chown(folder, NOBODY, NOBODY)
        somebody.sudo(REFUSES)
        make_empty(somebody.home / "data")
        if IS_ROOT:
            give_to_nobody(somebody.home / "data")
        yield somebody


def test_a_collection_that_cannot_be_written_to_is_refused_by_a_sentence(person: Person) -> None:
    closed = person.home / "data" / "logs"
    closed.chmod(0o500)
    if IS_ROOT:
        os.chown(closed, 0, 0)
    done = person.run("list")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert f"{closed} cannot be written to" in done.stderr


def test_asks_once_for_all_packages_before_the_work_begins(person: Person) -> None:
    """What sudo does here is what apt would: the programs are there when it ends."""
    person.sudo(f"{READS}\n{person.installs('first-program', 'second-program')}")
    person.plugin("first", "first-program", overrides={"apt": {"packages": ["first-package", "its-fonts"]}})
    person.plugin("second", "second-program")

    seen = person.type("add", "--plugins", "first,second", URL, then="right\n")

    assert seen.code == 0, seen.text
    (command,) = person.asked
    assert command.startswith("env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 sh -c ")
    assert "-- first-package its-fonts second-program" in command
    assert "dpkg --configure -a" in command
    question = "first-program (packages first-package, its-fonts); second-program (package second-program)"
    assert question in " ".join(seen.text.split())
    assert person.binary("first-program")["abspath"] == str(person.programs / "first-program")
    assert len(list(person.home.glob("data/users/**/page.txt"))) == 2


@pytest.mark.database
def test_goes_on_after_a_refusal_which_is_on_record_and_does_not_nag(person: Person) -> None:
    person.plugin("first", "first-program", overrides={"apt": {"packages": ["first-package"]}})
    person.plugin("free", "date")

    seen = person.type("add", "--plugins", "first,free", URL)

    assert seen.code == 0, seen.text  # the other hook had its result
    assert "Not installed." in seen.text
    assert len(person.asked) == 1
    row = person.binary("first-program")
    assert row["status"] == "failed"
    assert row["reason"] == "needs_root:sudo apt-get install --yes first-package"
    rows = [json.loads(line) for line in person.run("process", "list", "--type", "binary").stdout.splitlines()]
    assert [row["exit_code"] for row in rows if row["cmd"][0] == "sudo" and "-n" not in row["cmd"]] == [1]

    again = person.type("add", "--plugins", "first,free", "https://example.com/other")
    assert again.code == 0, again.text
    assert len(person.asked) == 1

    person.type("install", "first-program")
    assert len(person.asked) == 2


def test_ctrl_c_at_the_password_goes_on_without(person: Person) -> None:
    person.sudo(READS)
    person.plugin("first", "first-program")
    person.plugin("free", "date")

    seen = person.type("add", "--plugins", "first,free", URL, then="\x03")

    assert seen.code == 0, seen.text
    assert len(person.asked) == 1
    assert person.binary("first-program")["status"] == "failed"


@pytest.mark.database
def test_what_an_orchestrator_failed_to_find_is_looked_for_again(person: Person) -> None:
    """One is at work when URLs are added, and asks apt's hook, in vain, while the password is typed."""
    failed = f'{shlex.join(Person(person.home, []).words("binary", "list"))} </dev/null | grep -q \'"status":"failed"\''
    installs = person.installs("first-program")
    person.sudo(f"{ASKS}\nuntil {failed}; do sleep 0.1; done\n{installs}")
    person.plugin("first", "first-program")
    daemon = subprocess.Popen(
        person.words("run", "--daemon"), cwd=person.home, env=person.environment, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        seen = person.type("add", "--plugins", "first", URL)
    finally:
        daemon.send_signal(signal.SIGINT)
        daemon.wait(60)

    assert len(person.asked) == 1
    assert seen.code == 0, seen.text
    assert person.binary("first-program")["status"] == "succeeded"


@pytest.mark.parametrize("words", [("--bg",), ("--index-only",)])
def test_does_not_ask_for_what_is_only_queued(person: Person, words: tuple[str, ...]) -> None:
    person.plugin("first", "first-program")

    seen = person.type("add", "--plugins", "first", *words, URL)

    assert seen.code == 0, seen.text
    assert person.asked == []


def test_does_not_ask_without_a_terminal(person: Person) -> None:
    person.plugin("first", "first-program")

    person.run("add", "--plugins", "first", URL)

    assert person.asked == []
    assert "sudo apt-get install --yes first-program" in str(person.binary("first-program")["message"])


@pytest.mark.skipif(not IS_ROOT, reason="needs root")
def test_root_is_not_asked(person: Person) -> None:
    for name in ("apt-get", "dpkg", "dpkg-query"):  # what root may do is not to happen
        person.place(name, "exit 1")
    person.plugin("first", "first-program")

    Person(person.home, []).type("install", "first-program")

    assert person.asked == []


def test_does_not_ask_when_nothing_is_missing(person: Person) -> None:
    """One is on the PATH under another name; one is installed; the plugin of a third is not chosen."""
    person.place("other-name", "echo 1.0")
    person.plugin("first", "first-program", overrides={"env": {"names": ["other-name"]}})
    person.plugin("second", "dpkg", binproviders="apt")
    person.plugin("third", "third-program")

    person.type("add", "--plugins", "first,second", URL)

    assert person.asked == []
    assert person.binary("first-program")["abspath"] == str(person.programs / "other-name")


def test_does_not_ask_when_an_earlier_provider_could_do_it(person: Person) -> None:
    """pip always could, npm and brew where they are, custom with a command; this PATH has no brew."""
    person.place("npm", "exit 1")
    command = {"custom": {"install": ["false"]}}
    person.plugin("first", "first-program", binproviders="env,pip,apt")
    person.plugin("second", "second-program", binproviders="npm,apt")
    person.plugin("third", "third-program", binproviders="custom,apt", overrides=command)
    person.plugin("fourth", "fourth-program", binproviders="env,brew,custom,apt")
    person.plugin("fifth", "fifth-program", binproviders="env,brew")

    person.type("install", *(f"{number}-program" for number in ("first", "second", "third", "fourth", "fifth")))

    assert [call.split(" -- ")[1].split(";")[0] for call in person.asked] == ["fourth-program"]
