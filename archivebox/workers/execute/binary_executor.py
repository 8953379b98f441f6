"""Finding or installing one program: its providers are asked in their order, and the first success wins."""

import asyncio
import json
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.wakeups import notify_workers
from archivebox.contract.binaries import BinaryRequest, in_known_ways
from archivebox.contract.hook import Hook
from archivebox.contract.reasons import Reason
from archivebox.contract.records import EndReason, Record
from archivebox.core.crawl_control.retry import retry_program
from archivebox.hooks import (
    Call,
    base_layers,
    discover_hooks,
    known_providers,
    lib_dir,
    plugins,
    prepare_hook,
    process_hook_records,
    resolve_settings,
)
from archivebox.machine.binary import Binary, binary_paths
from archivebox.machine.process import Process
from archivebox.workers.execute.capacity.machine_locks import (
    PREFIX,
    acquire_machine_locks,
    of_machine,
    release_machine_locks,
)
from archivebox.workers.execute.engine import Engine
from archivebox.workers.execute.hooks.process import HookProcess
from archivebox.workers.execute.hooks.records import accepted, refuse_record, store_programs
from archivebox.workers.execute.leased_item import LeasedItem
from archivebox.workers.queue.claim import Due, FetchRequest
from archivebox.workers.queue.lease import Lease
from archivebox.workers.queue.quarantine import quarantine


class BinaryExecutor(LeasedItem):
    """Asks one provider after another for one program."""

    is_of_machine = True

    def __init__(self, engine: Engine, lease: Lease, loaded: "LoadedBinary") -> None:
        super().__init__(engine, lease)
        self.binary, self.call = loaded
        self.run: HookProcess | None = None
        self._ended: asyncio.Future[None] | None = None
        self._found = False
        self._polled = asyncio.Event()
        self._task = engine.in_background(self._ask_providers())
        self._stopping = ""
        self._locking: asyncio.Task[tuple[int, ...]] | None = None

    async def _ask_providers(self) -> None:
        hooks = provider_hooks(self.binary)
        problems = [] if hooks else [f"Of the providers {self.binary.binproviders} none is known here."]
        for hook in hooks:
            await self._wait_for_tools(hook)
            if self._stopping:
                break
            problem = await self._ask(hook)
            if self._found:
                break
            problems.append(problem)
        await self.engine.journal.read(
            settle, self.lease, self._found, "\n".join(filter(None, problems)), self._stopping
        )
        self.finish()

    async def _wait_for_tools(self, hook: Hook) -> None:
        """Until what a provider itself works with is there, or not to be had: npm comes by apt, which takes its time.

        No longer than an installation may take: two providers may wait for each other's.
        """
        tools = [tool for tool in self.call.of_plugin(hook).needed if tool.name != self.binary.name]
        if not tools:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(prepare_hook(hook, self.call).timeout):
                while not self._stopping and (open_ones := self._unsettled(tools)):
                    for tool in open_ones:
                        self.engine.want_program(tool)
                    self._polled.clear()
                    await self._polled.wait()

    def _unsettled(self, tools: Sequence[BinaryRequest]) -> list[BinaryRequest]:
        status = self.engine.programs.status
        return [tool for tool in tools if status.get(tool.name) not in Binary.SETTLED]

    async def _ask(self, hook: Hook) -> str:
        """One provider; returns why it could not, for people. Nothing was asked where we are to stop."""
        names = (*of_machine(hook.exclusive), f"{PREFIX}binary-{self.binary.name}")
        self._locking = asyncio.ensure_future(acquire_machine_locks(lib_dir(self.call.settings), names))
        try:
            locks = await self._locking
        except OSError as error:
            return f"{hook.plugin}: {error}"
        except asyncio.CancelledError:
            if not self._stopping:
                raise
            return ""
        try:
            await self.engine.journal.read(close_former, self.binary)
            if self._stopping:
                return ""
            self.run = HookProcess(self.engine, self, prepare_hook(hook, self.call), {"binary_id": self.binary.pk})
            self.run.pass_fds = locks
            self._ended = self.engine.loop.create_future()
            if not self.run.start():
                return f"{hook.plugin}: {self.run.failure}"
            await self._ended
        finally:
            release_machine_locks(locks)
        return f"{hook.plugin}: {_last_sentence(self.run)}"

    def hook_is_ready(self, run: HookProcess) -> None:
        """No provider declares readiness; nothing waits for one."""

    def hook_printed(self, run: HookProcess, records: list[Record]) -> bool:
        records = accepted(run, records)
        reported = [record for record in records if record.type == "Process"]
        if reported:
            apply = partial(store_programs, run.row.process_id)
            self.engine.journal.ingest(apply, reported, on_refused=partial(refuse_record, run))
        found = [r for r in records if r.type == "Binary" and r.fields.get("abspath")]
        self._found |= any(record.fields.get("name") == self.binary.name for record in found)
        if found:
            apply = partial(record_found, self.binary.pk)
            self.engine.journal.ingest(apply, found, self.lease, on_refused=partial(refuse_record, run))
        return bool(reported or found)

    def runs_in_folder_of(self, run: HookProcess) -> list[HookProcess]:
        return [run]

    def hook_exited(self, run: HookProcess) -> None:
        """Its output is still to be read."""

    def hook_ended(self, run: HookProcess) -> None:
        del run
        if self._ended is not None and not self._ended.done():
            self._ended.set_result(None)

    def advance(self) -> None:
        """It goes on by itself, from one provider to the next; what it waits for may be known by now."""
        self._polled.set()

    def hooks(self) -> list[HookProcess]:
        return [] if self.run is None else [self.run]

    async def handle_request(self, event: str) -> None:
        """Whatever is asked, the program is looked for again by whoever needs it."""
        del event
        await self._release("requeue")

    async def _release(self, event: str) -> None:
        """Put it back into the queue; an installer that runs is asked to finish."""
        self.ending = True
        self._stopping = event
        self._polled.set()
        if self._locking is not None:
            self._locking.cancel()  # whoever holds the machine's package manager may do so for minutes
        if self.run is not None and not self.run.ended:
            # What holds the machine's package manager is not killed in the middle: dpkg would be left half configured.
            slow = bool(of_machine(self.run.hook.exclusive))
            left = max(0.0, self.run.deadline - self.engine.loop.time())
            self.run.stop(EndReason.SEALED, left if slow else self.engine.stop_grace)
        await self._task

    async def abandon(self) -> None:
        await self._release("lost")


def provider_hooks(binary: Binary) -> list[Hook]:
    """The hooks to ask, in the order of ``binproviders``; all of them, in file-name order, if it names none.

    What was missing and is only looked for again is asked of those that install nothing: a crawl's start tries it once.
    For a newer version those that install come first; the others tell whether somebody else has brought one.
    """
    settings = resolve_settings(base_layers())
    providers = _request_of(binary).binproviders
    hooks = [
        hook for hook in discover_hooks("Binary") if settings.get(plugins()[hook.plugin].enabled_setting) is not False
    ]
    if binary.reason == Reason.LOOKED_FOR_AGAIN:
        hooks = [hook for hook in hooks if plugins()[hook.plugin].provider.installs == "nothing"]
    if providers:
        order = {name: position for position, name in enumerate(providers)}
        hooks = sorted((hook for hook in hooks if hook.plugin in order), key=lambda hook: order[hook.plugin])
    if binary.reason == Reason.UPGRADE:
        hooks.sort(key=lambda hook: plugins()[hook.plugin].provider.installs == "nothing")
    return hooks


def _request_of(binary: Binary) -> BinaryRequest:
    """What its row asks for, in the words of the providers that there are: hooks of others name some that are not."""
    return in_known_ways(BinaryRequest(binary.name, binary.providers, binary.overrides), known_providers())


def _last_sentence(run: HookProcess) -> str:
    lines = run.row.stderr.strip().splitlines()
    if run.row.end_reason is EndReason.TIMEOUT:
        return f"took longer than {run.call.timeout} s"
    return lines[-1] if lines else "does not have it"


def _why(name: str, problems: str) -> str:
    """The reason code of what the providers said: the administrator's command, where one would help."""
    command = next((line[line.index("sudo") :] for line in problems.splitlines() if "sudo" in line), "")
    return (Reason.NEEDS_ROOT.of(command) if command else Reason.INSTALL_FAILED.of(name))[:128]


# --- on the database thread -------------------------------------------------------------------------------------


class LoadedBinary(NamedTuple):
    """What a worker reads when it takes a Binary."""

    binary: Binary
    call: Call


def select_due(_engine: Engine, _held: Sequence[BinaryExecutor]) -> Due:
    """Every program of this machine that is due: pages wait for them."""
    return due


def due(who: FetchRequest, now: datetime) -> list[UUID]:
    """Sixteen of them at a time."""
    return list(Binary.objects.due(now).filter(machine_id=who.machine).values_list("pk", flat=True)[:16])


def load(binary_id: UUID, owner: UUID) -> LoadedBinary | None:
    """Load a leased Binary."""
    binary = Binary.objects.filter(pk=binary_id, owner=owner).first()
    if binary is None or (binary.attempts and quarantine(Lease(Binary, binary_id, owner, binary.fence))):
        return None
    if binary.status in Binary.SETTLED:
        binary.transition("requeue", owner=owner, retry_at=binary.retry_at)
    binary.transition("start")
    request = _request_of(binary)
    call = Call(
        object_dir=binary.path,
        arguments={
            "binary-id": str(binary.pk),
            "machine-id": str(binary.machine_id),
            "name": binary.name,
            "binproviders": ",".join(request.binproviders or [hook.plugin for hook in provider_hooks(binary)]),
            "overrides": json.dumps(dict(request.overrides)),
            **({"upgrade": "true"} if binary.reason == Reason.UPGRADE else {}),
        },
        context={"binary_id": str(binary.pk)},
        folders={},
        settings=resolve_settings(base_layers()),
        binaries=binary_paths(binary.machine_id),
    )
    return LoadedBinary(binary, call)


def close_former(binary: Binary) -> None:
    """What a former holder was installing with has ended: until then it had the lock."""
    if binary.fence > 1:
        with write_transaction():
            hooks = Process.objects.here().running().of_type(Process.TypeChoices.HOOK)
            hooks.filter(binary_id=binary.pk).close(reapers_live=False)


def record_found(binary_id: UUID, records: Sequence[Record]) -> None:
    process_hook_records(records, {"binary": Binary.objects.get(pk=binary_id)})


def settle(lease: Lease, found: bool, problems: str, stopping: str) -> None:
    """Succeeded, failed with what each provider said, or back in the queue. Success makes what lacked it due."""
    binary = Binary.objects.filter(pk=lease.pk, owner=lease.owner, fence=lease.fence).first()
    if binary is None:
        return
    with write_transaction():
        if found:
            message = problems[:4000] if binary.reason == Reason.UPGRADE else ""
            binary.transition("succeed", message=message, attempts=0)
            retry_program(binary.name)
        elif stopping:
            binary.transition("requeue", reason=binary.reason)  # what was looked for in env alone still is
        elif binary.reason == Reason.UPGRADE and Path(binary.abspath).is_file():
            binary.transition("succeed", message=problems[:4000], attempts=0)  # as it was
        else:
            if binary.reason == Reason.LOOKED_FOR_AGAIN:
                problems = binary.message  # what was said when all were asked
            binary.transition("fail", message=problems[:4000], reason=_why(binary.name, problems), attempts=0)
        notify_workers()
