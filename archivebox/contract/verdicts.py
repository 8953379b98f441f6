"""Owns what all results of a page come to: a verdict that people can rely on, with a sentence and the next action."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus
from typing import Protocol

from archivebox.contract import reasons
from archivebox.contract.failures import NOT_THE_PAGE
from archivebox.contract.presentation import OutputPattern, is_content, is_output
from archivebox.contract.reasons import Reason

APART = frozenset(
    {
        Reason.NOT_APPLICABLE, Reason.DISABLED, Reason.NOT_CHOSEN, Reason.OTHER_ENGINE, Reason.DIRECT_NETWORK,
        Reason.PRIVATE_PAGE,
        Reason.CANCELLED, Reason.NOTHING_CAME, Reason.KEPT_OUT,
    }
)  # fmt: skip
"""Reasons to skip a hook by which nothing is missing: it was not wanted, or is not for such a page.

Where nothing came, or the page was not to be visited, the hook that found that is what was missed.
"""
CONSEQUENCES = frozenset(
    {Reason.NO_SESSION, Reason.PAGE_LOST, Reason.PAGE_GONE, Reason.NOTHING_CAME, Reason.KEPT_OUT, Reason.HOOK_FAILED}
)
"""Reasons that another result of the page gives rise to, and says more of."""
OPEN = frozenset({"queued", "started"})
MISSED = frozenset({"failed", "backoff"})
SEE_WHY = "See the reasons below; each can be retried."
TRY_AGAIN = "Check that the address opens in a browser, then capture it again."


class AssessedResult(Protocol):
    """A result, as far as a verdict looks at it."""

    @property
    def plugin(self) -> str: ...
    @property
    def hook_name(self) -> str | None: ...
    @property
    def status(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def output_files(self) -> Collection[str]: ...
    @property
    def sentence(self) -> str: ...
    @property
    def action(self) -> str: ...


class State(StrEnum):
    """How a page is, for people."""

    WAITING = "waiting"
    RUNNING = "running"
    PAUSED = "paused"
    CANCELLED = "cancelled"
    KEPT = "kept"
    PARTLY = "partly kept"
    NOTHING = "nothing kept"
    REFUSED = "not archived"


_AT_WORK = {"queued": State.WAITING, "started": State.RUNNING, "paused": State.PAUSED}


@dataclass(frozen=True, slots=True)
class Verdict:
    """``kept`` of ``wanted`` count plugins: those that left files, and with them those that should have.

    ``failed`` of them are final, ``retrying`` wait for their next try; ``unfinished`` hooks have yet to end.
    """

    state: State
    sentence: str = ""
    action: str = ""
    kept: int = 0
    failed: int = 0
    retrying: int = 0
    unfinished: int = 0

    @property
    def wanted(self) -> int:
        return self.kept + self.failed + self.retrying

    @property
    def is_final(self) -> bool:
        return self.state in {State.KEPT, State.PARTLY, State.NOTHING, State.REFUSED, State.CANCELLED}

    @property
    def is_archived(self) -> bool:
        """Whether something of the page itself was kept."""
        return self.state in {State.KEPT, State.PARTLY}


def judge(
    status: str,
    http_status: int,
    results: Iterable[AssessedResult],
    outputs_of: Callable[[str], tuple[OutputPattern, ...]],
) -> Verdict:
    """What ``results`` of a page with this status come to; ``outputs_of`` says what a plugin declares of its files."""
    count = _Count(outputs_of)
    for result in results:
        count.add(result)
    numbers = (len(count.kept - count.missed.keys()), count.failed, count.retrying, count.unfinished)
    if status == "cancelled" and not count.has_outputs:
        return Verdict(State.CANCELLED, Reason.CANCELLED.sentence, Reason.CANCELLED.action, *numbers)
    if status in _AT_WORK:
        return Verdict(_AT_WORK[status], *_AT_WORK_TEXTS[_AT_WORK[status]], *numbers)
    return Verdict(*_final(http_status, count), *numbers)


class _Count:
    """Which plugins kept something, and which should have."""

    def __init__(self, outputs_of: Callable[[str], tuple[OutputPattern, ...]]) -> None:
        self._outputs_of = outputs_of
        self.kept: set[str] = set()
        self.missed: dict[str, AssessedResult] = {}
        self.has_content = self.has_outputs = False
        self.incomplete: AssessedResult | None = None
        """What was kept of the page, and says that files of it are missing."""
        self.unfinished = 0
        self.was_stopped = False
        self.refusal: AssessedResult | None = None
        """The navigation that found something else than the page."""

    def add(self, result: AssessedResult) -> None:
        self.unfinished += result.status in OPEN
        self.was_stopped = self.was_stopped or result.reason == Reason.CANCELLED
        if result.status in MISSED and reasons.split(result.reason)[0] in NOT_THE_PAGE:
            self.refusal = self.refusal or result
        if is_missed(result):
            known = self.missed.setdefault(result.plugin, result)
            self.missed[result.plugin] = min(known, result, key=_place)
        elif result.status == "succeeded" and result.output_files:
            self.kept.add(result.plugin)
            outputs = self._outputs_of(result.plugin)
            self.has_content = self.has_content or is_content(outputs, result.output_files)
            self.has_outputs = self.has_outputs or is_output(result.plugin, outputs, result.output_files)
            if reasons.split(result.reason)[0] is Reason.FILES_MISSING:
                self.incomplete = result

    @property
    def retrying(self) -> int:
        return sum(result.status == "backoff" for result in self.missed.values())

    @property
    def failed(self) -> int:
        return len(self.missed) - self.retrying

    @property
    def cause(self) -> AssessedResult | None:
        """What went wrong first by itself: what came after it may have failed for its sake."""
        return min(self.missed.values(), key=_place, default=None)


def is_consequence(result: AssessedResult) -> bool:
    """Whether another result of the page says why."""
    return reasons.split(result.reason)[0] in CONSEQUENCES


def _place(result: AssessedResult) -> tuple[bool, str]:
    """Causes before consequences, in the order in which hooks run."""
    return is_consequence(result), result.hook_name or ""


def is_missed(result: AssessedResult) -> bool:
    """Whether something was to be had here, and was not."""
    if result.status == "skipped":
        return bool(result.reason) and reasons.split(result.reason)[0] not in APART
    return result.status in MISSED


_AT_WORK_TEXTS = {
    State.WAITING: ("Waiting for its turn.", ""),
    State.RUNNING: ("Capture in progress.", ""),
    State.PAUSED: ("Paused: nothing is captured until its crawl is resumed.", "Resume its crawl."),
}


def _final(http_status: int, count: _Count) -> tuple[State, str, str]:
    cause = count.cause
    if count.refusal is not None:
        return State.REFUSED, _refused(count.refusal, http_status), count.refusal.action or TRY_AGAIN
    if not count.has_content and cause is not None:
        return State.NOTHING, f"Nothing was archived: {_begun(cause.sentence)}", cause.action or TRY_AGAIN
    if not count.has_outputs:
        return State.NOTHING, "Nothing was archived: no plugin found content.", "Capture it again with other plugins."
    if count.was_stopped:
        return State.PARTLY, "It was stopped before everything was archived.", "Resume its crawl, or capture it again."
    if http_status >= HTTPStatus.BAD_REQUEST:
        return (
            State.PARTLY,
            f"The server answered {_named(http_status)}: the archived page is its error page.",
            Reason.LOGIN_WALL.action if http_status == HTTPStatus.UNAUTHORIZED else TRY_AGAIN,
        )
    if cause is None and count.incomplete is not None:
        return State.PARTLY, _begun(count.incomplete.sentence), count.incomplete.action
    if cause is None:
        return State.KEPT, "All outputs were archived.", ""
    return State.PARTLY, _missing(count), "" if count.failed == 0 else SEE_WHY


def _refused(result: AssessedResult, http_status: int) -> str:
    """What was shown in place of the page, and what becomes of that."""
    answer = f"The answer {_named(http_status)}" if http_status >= HTTPStatus.BAD_REQUEST else "That"
    again = result.status == "backoff"
    rest = "Retries by itself." if again else f"{answer} was archived instead of the page."
    return f"{_begun(_capital(result.sentence))} {rest}"


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _missing(count: _Count) -> str:
    names = sorted(count.missed)
    listed = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    later = " Retries by itself." if count.retrying else ""
    files = f" {_begun(count.incomplete.sentence)}" if count.incomplete else ""
    return f"Missing: {listed}.{later}{files}"


def _begun(sentence: str) -> str:
    """A sentence after a colon, with its full stop."""
    text = sentence or "a hook failed without a reason"
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _named(http_status: int) -> str:
    known = {status.value: status.phrase for status in HTTPStatus}
    phrase = known.get(http_status)
    return f"{http_status} ({phrase})" if phrase else str(http_status)
