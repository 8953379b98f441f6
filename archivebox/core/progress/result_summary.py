"""Owns why a result is as it is, in words; and a result as lists look at it, which need no model of each."""

from collections.abc import Mapping
from typing import Any, NamedTuple
from uuid import UUID

from archivebox.contract import reasons
from archivebox.contract.outcomes import DECLARABLE_REASONS
from archivebox.contract.reasons import Reason

IN_ITS_OWN_WORDS = DECLARABLE_REASONS | {Reason.DECLARED, Reason.TEMPORARY_FAILURE, Reason.NOT_APPLICABLE}
"""Reasons of which the hook itself says more."""
BROKE = frozenset(
    {Reason.CRASHED, Reason.SIGNALLED, Reason.TIMEOUT, Reason.USAGE_ERROR, Reason.MISSING_MODULE,
     Reason.MISSING_NODE_MODULE}
)  # fmt: skip
"""Reasons for which its output is worth reading."""


class ResultLine(NamedTuple):
    """What a list looks at of a result. 60 pages have hundreds, whose models took a third of the time of the list."""

    snapshot_id: UUID
    plugin: str
    hook_name: str | None
    status: str
    reason: str
    process_id: UUID | None
    output_str: str
    output_size: int
    output_files: Mapping[str, Mapping[str, Any]]

    @property
    def sentence(self) -> str:
        return sentence_of(self.reason, self.output_str)

    @property
    def action(self) -> str:
        return action_of(self.reason, self.process_id)


COLUMNS = tuple(ResultLine.__annotations__)


def sentence_of(reason: str, said: str) -> str:
    """Why a result is as it is, for people: in the hook's own words where it said them."""
    if reason in IN_ITS_OWN_WORDS and said:
        return said
    return reasons.sentence(reason) if reason else ""


def action_of(reason: str, process: UUID | None) -> str:
    """What to do about it, for people; ``process``: what its hook ran as."""
    action = reasons.action(reason) if reason else ""
    if process is not None and reasons.split(reason)[0] in BROKE:
        return f"{action} `archivebox process tail --stderr {process}` shows it.".lstrip()
    return action
