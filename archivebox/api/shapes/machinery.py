"""Machines, processes and programs as the API shows them: only to who may inspect."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated
from uuid import UUID

from ninja import Schema
from pydantic import Field, StringConstraints

from archivebox.api.shapes.archive import RequestBody
from archivebox.contract import reasons
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
