"""Carries out `archivebox server` and the hidden command of the orchestrator; everything else is supervisord's."""

import os
import re
import sys
from typing import NamedTuple

from archivebox.cli import settings
from archivebox.cli.errors import BadInputError
from archivebox.cli.former import without_effect
from archivebox.cli.session import Session
from archivebox.config.settings import DATA_FOLDER
from archivebox.machine.host import Machine
from archivebox.machine.process import Process
from archivebox.workers.supervise import entry, supervisord_util

NAMESPACE = """
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
sys.exit(0 if libc.unshare(0x10000000) == 0 and libc.unshare(0x20000000 | 0x40000000) == 0 else 1)
"""
"""What the sandbox does first, tried as this very user: unshare(2) of user, then of pid and network."""


class SandboxProblem(NamedTuple):
    """Why Chromium has no sandbox, and what to do."""

    sentence: str
    action: str


ROOT = SandboxProblem(
    "Running as root: Chromium runs without its sandbox.",
    "Run ArchiveBox as an ordinary user, so that hostile pages stay in Chromium's sandbox.",
)
NO_NAMESPACES = SandboxProblem(
    "This user cannot create user namespaces: Chromium runs without its sandbox.",
    "Allow them: in a container by --security-opt seccomp=seccomp.json (docs/install.md), on Ubuntu by "
    "sysctl kernel.apparmor_restrict_unprivileged_userns=0.",
)


def sandbox_problem(parent: Process | None) -> SandboxProblem | None:
    """What keeps the sandbox off; None where it works, or cannot be tried: that takes a process below ``parent``."""
    if sys.platform != "linux":
        return None
    if os.geteuid() == 0:
        return ROOT
    if parent is None:
        return None
    probe = Process(
        machine=Machine.current(),
        parent=parent,
        process_type=Process.TypeChoices.BINARY,
        cmd=[sys.executable, "-I", "-c", NAMESPACE],
        pwd=str(DATA_FOLDER.root),
        timeout=10,
    )
    return None if probe.launch().exit_code == 0 else NO_NAMESPACES


_ADDRESS = re.compile(r"(?:(?P<host>[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]):)?(?P<port>\d{1,5})")


def run(session: Session, *, address: str | None, bind: str | None, replay: str | None) -> int:
    """Serve until told to stop. Archived pages are shown on an address of their own, never on the application's."""
    resolved = settings.current(is_collection=session.is_collection)
    if address and bind:
        raise BadInputError("Give the address once: HOST:PORT, or --bind HOST:PORT.")
    host, port = parse_address(address or bind or resolved.get_text("BIND_ADDR"))
    shown = replay or resolved.get_text("REPLAY_ADDR")
    replay_host, replay_port = parse_address(shown) if shown else (host, port + 1)
    if (host, port) == (replay_host, replay_port):
        raise BadInputError(f"{host}:{port} cannot be both: archived pages need a port or host of their own.")
    for name, instead in without_effect([*os.environ, *(name for _, name in resolved.unknown)]):
        session.out.warn(f"{name} has no effect: {instead}.")
    if problem := sandbox_problem(session.process):
        session.out.warn(" ".join(problem))
    return supervisord_util.serve(f"{host}:{port}", f"{replay_host}:{replay_port}", session.out.say)


def parse_address(text: str) -> tuple[str, int]:
    """``HOST:PORT`` or ``PORT``; BadInput says what is wrong."""
    found = _ADDRESS.fullmatch(text.strip())
    if not found or not 0 < int(found["port"]) < 65_536:
        raise BadInputError(f"{text!r} is not an address: write HOST:PORT, such as 127.0.0.1:8000.")
    return found["host"] or "127.0.0.1", int(found["port"])


def orchestrate(session: Session, *, args: tuple[str, ...]) -> int:
    """It records itself; `archivebox run` and `archivebox server` start it."""
    return entry.orchestrate([*args, f"--data-dir={session.folder.root}"])
