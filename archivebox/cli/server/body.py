"""Owns `archivebox server`: where it listens; everything else is supervisord's."""

import os
import re

from archivebox.cli import settings
from archivebox.cli.errors import BadInputError
from archivebox.cli.former_settings import without_effect
from archivebox.cli.sandbox import sandbox_problem
from archivebox.cli.session import Session
from archivebox.workers.supervise import supervisord_util

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
