"""A lease: which item a worker holds, and the fence by which its writes are checked."""

from typing import NamedTuple
from uuid import UUID

from archivebox.base_models.work import WorkItem


class Lease(NamedTuple):
    """The leased item in whose name a change is made."""

    model: type[WorkItem]
    pk: UUID
    owner: UUID
    fence: int
