"""What has to be true of the result of one hook after all kills, and what is told where it is not."""

from collections.abc import Collection as Keys
from collections.abc import Iterable

from archivebox.contract.reasons import Reason
from tests.chaos.ledger import status_of
from tests.integration.engine.driver import FINAL, Row


def problem_of(result: Row, run: Row | None, killed: Keys[str]) -> str:
    """What is wrong with a result, judged by its last run; nothing where it may be so. ``killed``: runs that we killed.

    The pages of the ledger are tried once. What is killed while the machine is short of memory has one more try, which
    waits for ten minutes: whatever runs beside us may make it short.
    """
    status = result["status"]
    was_killed = run is not None and str(run["pk"]) in killed
    if status == "backoff" and was_killed and result["reason"] == Reason.SIGNALLED:
        return ""
    if status not in FINAL:
        return f"is {status} ({result['reason']})"
    if run is None or run["exit_code"] is None:
        return f"is {status} ({result['reason']}) by a run whose end nobody saw"
    if run["exit_code"] < 0:
        return "" if was_killed else f"is {status}: a run that we ended ({run['end_reason']}) is its last"
    if status != status_of(run["exit_code"]):
        return f"is {status}, its hook exited {run['exit_code']}"
    return ""


def story_of(result: Row, runs: Iterable[Row]) -> str:
    """What may explain a result: its attempts, and each run of its hook with its end."""
    attempts = f"  attempts {result['attempts']}, tried again at {result['retry_at']}, ended {result['end_ts']}"
    return f"{attempts}\n{story_of_runs(runs)}"


def story_of_runs(runs: Iterable[Row]) -> str:
    """Each run of a hook with its end, a line each."""
    return "\n".join(
        f"  {run['hook_name']} pid {run['pid']}: {run['started_at']} to {run['ended_at']}, "
        f"{run['end_reason']} {run['exit_code']}"
        for run in runs
    )
