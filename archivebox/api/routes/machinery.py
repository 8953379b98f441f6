"""Machines, processes and programs."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated, Literal
from uuid import UUID

from django.db.models import Q
from django.http import Http404, HttpRequest
from ninja import Query, Router, Schema, Status
from pydantic import Field, StringConstraints

from archivebox.accounts.permission import processes_among, visible_processes
from archivebox.accounts.roles import Action
from archivebox.api.credentials import Bearer, caller, record_audit
from archivebox.api.paging import Page, Window, page_of, page_within
from archivebox.api.problems import ProblemError
from archivebox.api.shapes.archive import RequestBody, Text
from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.wakeups import notify_workers
from archivebox.contract import reasons
from archivebox.contract.binaries import BinaryRequest
from archivebox.core.crawl_control.retry import retry_program
from archivebox.machine.host import MachineAtWorkError
from archivebox.machine.models import Binary, Machine, Process
from archivebox.machine.plugin_sets import plugin_differences


class MachineOut(Schema):
    """One machine that works on this collection."""

    id: UUID
    hostname: str
    os_family: str
    os_platform: str
    os_kernel: str
    arch: str
    cpu_count: int
    memory_bytes: int
    in_container: bool
    version: Annotated[str, Field(description="Of ArchiveBox")]
    state: Annotated[str, Field(description="working, draining or offline")]
    load: Annotated[float | None, Field(description="In the minute before it was last seen")]
    drain_by: Annotated[datetime | None, Field(description="When what it still works on returns to the queue")]
    plugin_difference: Annotated[str, Field(description="How its plugins differ from those of another machine")]
    seen_at: datetime

    @classmethod
    def all_of(cls, rows: Sequence[Machine]) -> "list[MachineOut]":
        differences = plugin_differences(rows)
        columns = cls.model_fields.keys() - {"plugin_difference"}
        return [
            cls(**{name: getattr(row, name) for name in columns}, plugin_difference=differences.get(row.pk, ""))
            for row in rows
        ]


class DrainIn(RequestBody):
    """How a machine is drained."""

    within: Annotated[
        int, Field(strict=True, ge=0, le=86_400, description="Seconds until its work returns to the queue")
    ] = 600


class ProcessOut(Schema):
    """One process that was started; its command line holds no secrets."""

    id: UUID
    machine_id: UUID
    parent_id: UUID | None
    process_type: str
    worker_type: str
    status: str
    plugin: str
    hook_name: str
    cmd: list[str]
    pwd: str
    pid: int | None
    started_at: datetime | None
    ended_at: datetime | None
    exit_code: int | None
    end_reason: str
    user_seconds: float | None
    system_seconds: float | None
    max_rss: int | None
    stdout: Annotated[str, Field(description="The last 2 KB")]
    stderr: Annotated[str, Field(description="The last 2 KB")]
    crawl_id: UUID | None
    snapshot_id: UUID | None
    archiveresult_id: UUID | None
    binary_id: UUID | None

    @classmethod
    def all_of(cls, rows: Sequence[Process]) -> "list[ProcessOut]":
        return [cls(**{name: getattr(row, name) for name in cls.model_fields} | {"cmd": row.argv}) for row in rows]


class BinaryOut(Schema):
    """One program on one machine."""

    id: UUID
    machine_id: UUID
    name: str
    status: str
    reason: str
    action: Annotated[str, Field(description="What to do about it")]
    message: str
    binproviders: str
    binprovider: str
    version: str
    abspath: str
    sha256: str
    modified_at: datetime

    @classmethod
    def all_of(cls, rows: Sequence[Binary]) -> "list[BinaryOut]":
        return [cls._of(row) for row in rows]

    @classmethod
    def _of(cls, row: Binary) -> "BinaryOut":
        columns = {name: getattr(row, name) for name in cls.model_fields if name != "action"}
        return cls(**columns, action=reasons.action(row.reason) if row.reason else "")


class BinaryIn(RequestBody):
    """A program that is to be installed on this machine, by the providers that are named, in their order."""

    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]{0,99}$")]
    binproviders: Annotated[
        list[Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,31}$")]], Field(min_length=1, max_length=8)
    ] = ["env"]


router = Router(tags=["machinery"])
INDEXED = ("parent_id", "snapshot_id", "crawl_id")
"""Of what processes are chosen by, what an index finds."""


@router.get("/machines", response=Page[MachineOut], auth=Bearer(Action.INSPECT))
def list_machines(request: HttpRequest, window: Query[Window]) -> Page[MachineOut]:
    """Machines that work, or worked, on this collection."""
    del request
    return page_of(Machine.objects.kept(), window, MachineOut.all_of)


@router.get("/machines/{uuid:machine_id}", response=MachineOut, auth=Bearer(Action.INSPECT))
def get_machine(request: HttpRequest, machine_id: UUID) -> MachineOut:
    """One machine."""
    del request
    return MachineOut.all_of([_find_machine(machine_id)])[0]


@router.post("/machines/{uuid:machine_id}/drain", response=MachineOut, auth=Bearer(Action.ADMINISTER))
def drain_machine(request: HttpRequest, machine_id: UUID, wanted: DrainIn) -> MachineOut:
    """Have a machine take no new work, and release what still runs after so long."""
    machine = _find_machine(machine_id)
    with write_transaction():
        machine.drain(timedelta(seconds=wanted.within))
        record_audit(request, "machine.drained", machine, within=wanted.within)
    return MachineOut.all_of([machine])[0]


@router.post("/machines/{uuid:machine_id}/resume", response=MachineOut, auth=Bearer(Action.ADMINISTER))
def resume_machine(request: HttpRequest, machine_id: UUID) -> MachineOut:
    """Let a machine work again that was drained."""
    machine = _find_machine(machine_id)
    with write_transaction():
        machine.resume()
        record_audit(request, "machine.resumed", machine)
    return MachineOut.all_of([machine])[0]


@router.delete("/machines/{uuid:machine_id}", response={204: None}, auth=Bearer(Action.ADMINISTER))
def remove_machine(request: HttpRequest, machine_id: UUID) -> Status[None]:
    """Leave out of lists a machine that is gone; 409 where it is not offline."""
    machine = _find_machine(machine_id)
    try:
        with write_transaction():
            machine.remove()
            record_audit(request, "machine.removed", machine)
    except MachineAtWorkError as error:
        raise ProblemError(409, str(error)) from error
    return Status(204, None)


def _find_machine(key: UUID) -> Machine:
    found: Machine | None = Machine.objects.filter(pk=key).first()
    if found is None:
        raise Http404
    return found


class WantedProcesses(Schema):
    """Which processes."""

    status: Literal["queued", "running", "exited"] | None = None
    process_type: Literal["cli", "supervisord", "orchestrator", "worker", "hook", "binary"] | None = None
    plugin: Text | None = None
    parent_id: UUID | None = None
    snapshot_id: UUID | None = None
    crawl_id: UUID | None = None


@router.get("/processes", response=Page[ProcessOut], auth=Bearer(Action.INSPECT))
def list_processes(request: HttpRequest, wanted: Query[WantedProcesses], window: Query[Window]) -> Page[ProcessOut]:
    """Processes that were started, the newest first."""
    rows, seen = processes_among(caller(request))
    asked = wanted.dict(exclude_none=True)
    rows = rows.filter(**{name: asked.pop(name) for name in INDEXED if name in asked})
    if wanted.status == "running":
        rows = rows.filter(pk__in=rows.running().values("pk"))
    return page_within(rows, seen & Q(**asked), window, ProcessOut.all_of)


@router.get("/processes/{uuid:process_id}", response=ProcessOut, auth=Bearer(Action.INSPECT))
def get_process(request: HttpRequest, process_id: UUID) -> ProcessOut:
    """One process."""
    return ProcessOut.all_of([_find_process(request, process_id)])[0]


@router.post("/processes/{uuid:process_id}/terminate", response={202: ProcessOut}, auth=Bearer(Action.ADMINISTER))
def terminate_process(request: HttpRequest, process_id: UUID) -> Status[ProcessOut]:
    """Have its worker end the hook that it is, or is a program of, with all that it started, within seconds."""
    process = _find_process(request, process_id)
    with write_transaction():
        if not visible_processes(caller(request)).filter(pk=process.pk).ask_workers_to_end():
            raise ProblemError(409, "The process is no longer running, or is not managed by a worker.")
        record_audit(request, "process.ended", process)
    return Status(202, ProcessOut.all_of([_find_process(request, process_id)])[0])


def _find_process(request: HttpRequest, key: UUID) -> Process:
    found: Process | None = visible_processes(caller(request)).filter(pk=key).first()
    if found is None:
        raise Http404
    return found


class WantedBinaries(Schema):
    """Which programs."""

    status: Literal["queued", "started", "succeeded", "failed"] | None = None
    name: Text | None = None


@router.get("/binaries", response=Page[BinaryOut], auth=Bearer(Action.INSPECT))
def list_binaries(request: HttpRequest, wanted: Query[WantedBinaries], window: Query[Window]) -> Page[BinaryOut]:
    """Programs that plugins need, on each machine."""
    del request
    return page_of(Binary.objects.filter(**wanted.dict(exclude_none=True)), window, BinaryOut.all_of)


@router.post("/binaries", response={202: BinaryOut}, auth=Bearer(Action.ADMINISTER))
def want_binary(request: HttpRequest, wanted: BinaryIn) -> Status[BinaryOut]:
    """Have a program looked for, or installed, on the server's machine."""
    with write_transaction():
        row = Binary.want(BinaryRequest(wanted.name, tuple(wanted.binproviders), {}))
        record_audit(request, "binary.wanted", row, name=row.name)
        notify_workers()
    return Status(202, BinaryOut.all_of([row])[0])


@router.get("/binaries/{uuid:binary_id}", response=BinaryOut, auth=Bearer(Action.INSPECT))
def get_binary(request: HttpRequest, binary_id: UUID) -> BinaryOut:
    """One program."""
    del request
    return BinaryOut.all_of([_find_binary(binary_id)])[0]


@router.post("/binaries/{uuid:binary_id}/retry", response={202: BinaryOut}, auth=Bearer(Action.ADMINISTER))
def retry_binary(request: HttpRequest, binary_id: UUID) -> Status[BinaryOut]:
    """Look for it again, and try again what failed for want of it."""
    row = _find_binary(binary_id)
    if row.status not in Binary.SETTLED or row.owner is not None:
        raise ProblemError(409, f"It is {row.status}: it is already being checked.")
    with write_transaction():
        row.transition("requeue")
        retry_program(row.name)
        record_audit(request, "binary.retry", row, name=row.name)
        notify_workers()
    return Status(202, BinaryOut.all_of([_find_binary(binary_id)])[0])


def _find_binary(key: UUID) -> Binary:
    found: Binary | None = Binary.objects.filter(pk=key).first()
    if found is None:
        raise Http404
    return found
