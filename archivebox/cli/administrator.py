"""Owns asking for a password, once and at the terminal, for the programs that only an administrator may install."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.transitions import TransitionRefusedError
from archivebox.base_models.wakeups import notify_workers
from archivebox.cli.session import Session
from archivebox.config.resolve import Resolved
from archivebox.config.settings import DATA_FOLDER
from archivebox.contract.binaries import BinaryRequest
from archivebox.contract.hook import Hook
from archivebox.contract.schema import prefix
from archivebox.core.crawl_control.retry import retry_program
from archivebox.hooks import (
    HOOK_PATH,
    Call,
    base_layers,
    lib_dir,
    plugins,
    prepare_hook,
    process_hook_records,
    resolve_settings,
)
from archivebox.lib import jsonl
from archivebox.lib.jsonl import JSON
from archivebox.lib.processes import ExitStatus, ProcessIdentity
from archivebox.machine.host import Machine
from archivebox.machine.models import Binary, Process
from archivebox.workers.execute.binary_executor import provider_hooks
from archivebox.workers.execute.crawl_executor import wanted_programs

PLAN_TIME = 300
"""Seconds for a provider's script to say what it needs one for: apt may plan on a cold disk."""


@dataclass(frozen=True, slots=True)
class RootCommand:
    """What is to be run as root: one command, and the packages it brings, by the name of the program."""

    command: list[str]
    packages: dict[str, list[str]]

    @classmethod
    def read(cls, record: dict[str, JSON]) -> "RootCommand | None":
        command, packages = record.get("command"), record.get("packages")
        if record.get("type") != "Administrator" or not isinstance(command, list) or not isinstance(packages, dict):
            return None
        named = {name: [str(word) for word in words] for name, words in packages.items() if isinstance(words, list)}
        return cls([str(word) for word in command], named)

    @property
    def sentence(self) -> str:
        programs = (
            f"{name} (package{'' if len(packages) == 1 else 's'} {', '.join(packages)})"
            for name, packages in self.packages.items()
        )
        return (
            f"Only an administrator can install {'; '.join(programs)}: "
            "sudo asks for your password, and Ctrl-C continues without them."
        )


def ask_for_crawls(session: Session, crawls: Any) -> None:
    """Ask for what these Crawls are about to look for on this machine; they go on whatever comes of it.

    A program that was not to be had before is left to `archivebox install`, as the engine leaves it: who has refused,
    or may not use sudo at all, is not asked by every command.
    """
    if not _somebody_can_be_asked():
        return
    wanted: dict[str, BinaryRequest] = {}
    for crawl in crawls.only("config", "persona", "urls").iterator():
        wanted = wanted_programs(resolve_settings(crawl.layers()), crawl.urls.splitlines()) | wanted
    failed_before = _failed_before(session)
    installed = _ask(session, [request for name, request in wanted.items() if name not in failed_before])
    _reopen_given_up(installed)


def may_have_to_ask() -> bool:
    """Whether the collection's settings want a program that is not there, and whose installation has not failed yet."""
    rows = {row.name: row for row in Binary.objects.here()}
    known = (name for name, row in rows.items() if row.is_there or row.status == Binary.StatusChoices.FAILED)
    return bool(wanted_programs(resolve_settings(base_layers())).keys() - set(known))


def ask_for(session: Session, requests: Iterable[BinaryRequest]) -> None:
    """Ask for these programs, whatever was said before; the caller queues them then."""
    if _somebody_can_be_asked():
        _ask(session, requests)


def _somebody_can_be_asked() -> bool:
    """Whether we are at a terminal, in its foreground, where sudo could be of use."""
    if os.geteuid() == 0 or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    if not shutil.which("sudo"):
        return False
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except OSError:
        return False  # a terminal, but not ours: sudo would have nobody to ask


def _failed_before(session: Session) -> set[str]:
    """Programs that failed before this command began; one whose installation failed meanwhile is new."""
    began: datetime | None = session.process.started_at if session.process is not None else None
    failed = Binary.objects.here().filter(status=Binary.StatusChoices.FAILED)
    return set((failed if began is None else failed.filter(modified_at__lt=began)).values_list("name", flat=True))


def _ask(session: Session, requests: Iterable[BinaryRequest]) -> list[str]:
    """Name what is missing, and run sudo for it. Returns the programs that were installed."""
    settings, provider = resolve_settings(base_layers()), _provider_with_errands()
    if provider is None:
        return []
    there = {row.name for row in Binary.objects.here() if row.is_there}
    absent = [request for request in requests if request.name not in there]
    missing = [request for request in absent if _comes_to_it(provider.plugin, request, settings)]
    root_command = _root_command(session, provider, missing, settings) if missing else None
    if root_command is None:
        return []
    session.out.warn(root_command.sentence)
    if _run_at_terminal(session, provider.plugin, root_command.command) == 0:
        return list(root_command.packages)
    session.out.warn("Not installed. Continuing without it; `archivebox install` asks again.")
    return []


def _provider_with_errands() -> Hook | None:
    """The first provider that says it may need an administrator, and has the script that says what for."""
    for hook in provider_hooks(Binary(binproviders="")):
        script = plugins()[hook.plugin].provider.administrator
        if script and hook.path.with_name(script).is_file():
            return hook
    return None


def _comes_to_it(provider: str, request: BinaryRequest, settings: Resolved) -> bool:
    """Whether the provider is asked for this program, and none before it could install it without root."""
    order = _order(request)
    if provider not in order:
        return False
    return not any(_could_install(name, request, settings) for name in order[: order.index(provider)])


def _order(request: BinaryRequest) -> list[str]:
    return [hook.plugin for hook in provider_hooks(Binary(binproviders=",".join(request.binproviders)))]


def _could_install(provider: str, request: BinaryRequest, settings: Resolved) -> bool:
    """Whether it installs such a program at all, and its own program is there."""
    installs = plugins()[provider].provider.installs
    if installs == "nothing":
        return False
    if installs == "named":
        return bool(request.overrides.get(provider))
    program = f"{prefix(provider)}_BINARY"
    if program not in plugins()[provider].schema.settings:
        return True
    places = f"{lib_dir(settings)}/bin{os.pathsep}{os.environ.get('PATH') or os.defpath}"
    return shutil.which(settings.get_text(program), path=places) is not None


def _root_command(
    session: Session, hook: Hook, requests: list[BinaryRequest], settings: Resolved
) -> RootCommand | None:
    """What the provider says it needs root for, asked as its hook would be: in a session without a terminal."""
    script = hook.path.with_name(plugins()[hook.plugin].provider.administrator)
    programs = [
        {"name": request.name, "binproviders": _order(request), "overrides": dict(request.overrides)}
        for request in requests
    ]
    process = _process(session, hook.plugin, [sys.executable, str(script), f"--programs={json.dumps(programs)}"])
    process.timeout = PLAN_TIME
    call = Call(DATA_FOLDER.root, {}, {}, {}, settings, {})
    process.launch_env = {**prepare_hook(hook, call).env, "PYTHONPATH": str(HOOK_PATH)}
    process.launch()
    records = list(jsonl.read(process.stdout_file))
    process_hook_records([record for record in records if record.get("type") == "Process"], {"process": process})
    return next(filter(None, map(RootCommand.read, records)), None)


def _run_at_terminal(session: Session, provider: str, command: list[str]) -> int:
    """Run sudo where a person can answer it, and wait for its end. Returns its status.

    It is never ended by us: dpkg may be at work under it.
    """
    process = _process(session, provider, ["sudo", *command])
    process.save(force_insert=True)
    with _ctrl_c_is_for_others():
        child = subprocess.Popen(process.cmd, stdout=sys.stderr.fileno())  # stdout is for programs that read ours
        identity = ProcessIdentity.of(child.pid)
        if identity is not None:
            process.set_identity(identity)
            process.save()
        code = child.wait()
    process.settle(ExitStatus(code))
    process.save()
    return code


@contextmanager
def _ctrl_c_is_for_others() -> Iterator[None]:
    """The terminal sends it to us, too. A handler that does nothing; one that ignores would be passed on to sudo."""
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _process(session: Session, provider: str, cmd: list[str]) -> Process:
    """The row of a program of this command's, not saved yet."""
    return Process(
        machine=Machine.current(),
        parent=session.process,
        process_type=Process.TypeChoices.BINARY,
        plugin=provider,
        cmd=cmd,
        pwd=str(DATA_FOLDER.root),
    )


def _reopen_given_up(names: list[str]) -> None:
    """An orchestrator that was at work may have given them up, and what needs them, while the password was typed."""
    if not names:
        return
    with write_transaction():
        for row in Binary.objects.here().filter(name__in=names, status=Binary.StatusChoices.FAILED):
            with suppress(TransitionRefusedError):  # somebody else was first to ask again
                row.transition("requeue")
            retry_program(row.name)
        notify_workers()
