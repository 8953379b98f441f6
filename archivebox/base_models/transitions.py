"""What a status may become: tables of transitions, carried out as guarded updates."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.db import models
from django.utils import timezone


class TransitionRefusedError(Exception):
    """The row is not (or no longer) in a status from which this transition leads."""


@dataclass(frozen=True, slots=True)
class Transition:
    """One line of a table: from any of ``sources`` to ``target``."""

    sources: frozenset[str]
    target: str


def transition(*sources: str, to: str) -> Transition:
    return Transition(frozenset(sources), to)


class TransitionTable:
    """The whole life of a kind of row whose transitions are too many a minute for a machine object each.

    Subclasses name their transitions as class attributes; :meth:`apply` is the only writer of ``status``.
    """

    model: type[models.Model]

    @classmethod
    def transitions(cls) -> Mapping[str, Transition]:
        return {name: value for name, value in vars(cls).items() if isinstance(value, Transition)}

    @classmethod
    def allows(cls, source: str, target: str) -> bool:
        return any(source in line.sources and line.target == target for line in cls.transitions().values())

    @classmethod
    def apply(cls, rows: "models.QuerySet[models.Model]", line: Transition, **fields: object) -> int:
        """Carry ``line`` out on those of ``rows`` that are in one of its sources; returns how many were."""
        return rows.filter(status__in=line.sources).update(status=line.target, modified_at=timezone.now(), **fields)
