"""Jobs and saved searches as the API shows them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from ninja import Schema
from pydantic import Field

from archivebox.jobs.models import Job
from archivebox.search.models import SavedSearch


class SearchOut(Schema):
    """A query that somebody gave a name."""

    id: UUID
    name: str
    query: str
    modified_at: datetime

    @classmethod
    def all_of(cls, rows: Sequence[SavedSearch]) -> "list[SearchOut]":
        return [cls(id=row.pk, name=row.name, query=row.query, modified_at=row.modified_at) for row in rows]


class JobOut(Schema):
    """Something that is done to many Snapshots."""

    id: UUID
    kind: str
    status: str
    query: str
    options: dict[str, Any]
    total: Annotated[int | None, Field(description="Snapshots; null until all are known")]
    done: int
    failed: int
    problem: str
    created_at: datetime
    ended_at: datetime | None

    @classmethod
    def all_of(cls, rows: Sequence[Job]) -> "list[JobOut]":
        return [cls(**{name: getattr(row, name) for name in cls.model_fields}) for row in rows]
