"""Owns what carries out each kind of job, loaded when one is wanted: readers and writers of many formats."""

from collections.abc import Mapping
from functools import cache

from archivebox.jobs.action import JobAction


@cache
def actions() -> Mapping[str, type[JobAction]]:
    """The kind of a job → what carries it out."""
    from archivebox.jobs.actions import ACTIONS  # 30 ms that a command without a job does not pay

    return ACTIONS
