"""What the chaos run takes for wrong."""

import pytest

from tests.chaos.verdicts import problem_of

LONG = {"hook_name": "on_Snapshot__20_long.finite.bg.py", "reason": "signalled", "status": "backoff"}
KILLED = {"pk": 7, "exit_code": -9, "end_reason": "signalled"}


@pytest.mark.default
@pytest.mark.parametrize(
    ("result", "run", "killed", "problem"),
    [
        (LONG, KILLED, {"7"}, ""),
        (LONG | {"status": "failed"}, KILLED, {"7"}, ""),
        (LONG, KILLED, set(), "is backoff (signalled)"),
        (LONG | {"reason": "timeout"}, KILLED, {"7"}, "is backoff (timeout)"),
        (LONG | {"status": "started"}, KILLED, {"7"}, "is started (signalled)"),
        (LONG | {"status": "failed"}, KILLED, set(), "is failed: a run that we ended (signalled) is its last"),
        (LONG | {"status": "failed"}, None, set(), "is failed (signalled) by a run whose end nobody saw"),
        (LONG | {"status": "noresults"}, KILLED | {"exit_code": 7}, set(), "is noresults, its hook exited 7"),
        (LONG | {"status": "noresults"}, KILLED | {"exit_code": 0}, set(), ""),
    ],
)
def test_a_hook_killed_while_memory_was_short_may_wait_for_its_second_try(
    result: dict[str, object], run: dict[str, object] | None, killed: set[str], problem: str
) -> None:
    assert problem_of(result, run, killed) == problem
