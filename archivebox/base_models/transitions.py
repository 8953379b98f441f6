"""What a status may become: tables of transitions, carried out as guarded updates.

Rows and bulk updates get the columns of a change of status from :meth:`Transition.columns_of` alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from django.db import models
from django.utils import timezone

from archivebox.base_models.rows import Row


class TransitionRefusedError(Exception):
    """The row is not (or no longer) in a status from which this transition leads."""


@dataclass(frozen=True, slots=True)
class Transition:
    """One line of a table: from any of ``sources`` to ``target``."""

    sources: frozenset[str]
    target: str
    columns: Mapping[str, object] = field(default_factory=dict)
    """Those that it sets beside the status; what is callable is called then."""
    enters: tuple[str, ...] = ()
    """Methods of the row that entering the target calls."""

    def columns_of(self, fields: Mapping[str, object]) -> dict[str, Any]:
        """All that the change writes: status and its own columns, over which ``fields`` go."""
        columns = {**self.columns, **fields, "status": self.target, "modified_at": timezone.now()}
        return {name: value() if callable(value) else value for name, value in columns.items()}


def transition(*sources: str, to: str) -> Transition:
    return Transition(frozenset(sources), to)


class TransitionTable:
    """The whole life of a kind of row that nobody leases, and of which many go on at a time.

    Subclasses name their transitions as class attributes.
    """

    @classmethod
    def transitions(cls) -> Mapping[str, Transition]:
        return {name: value for name, value in vars(cls).items() if isinstance(value, Transition)}


Item = TypeVar("Item", bound="TabledRow")


class TabledQuerySet(models.QuerySet[Item]):
    """Rows whose life is a table, which many at a time may go on in."""

    def transition(self, event: str, **fields: object) -> int:
        """Carry out a transition on those that are in one of its sources; returns how many were."""
        line = self.model.life.transitions()[event]
        return self.filter(status__in=line.sources).update(**line.columns_of(fields))


class TabledRow(Row):
    """A row whose life is a table."""

    life: ClassVar[type[TransitionTable]]
    status = models.CharField(max_length=16)

    class Meta:
        abstract = True

    def transition(self, event: str, **fields: object) -> None:
        """Carry out one transition, with more columns written by the same guarded update, and read the row anew.

        Raises TransitionRefusedError when its status knows no such transition.
        """
        rows: TabledQuerySet[TabledRow] = type(self)._default_manager.filter(pk=self.pk)  # type: ignore[assignment]
        if not rows.transition(event, **fields):
            raise TransitionRefusedError(f"{type(self).__name__} {self.pk} is {self.status}: it cannot {event}")
        self.refresh_from_db()
