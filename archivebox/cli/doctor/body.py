"""Owns `archivebox doctor`."""

from archivebox.cli import settings
from archivebox.cli.doctor.checks import all_checks
from archivebox.cli.output import Column, counted
from archivebox.cli.session import Session

COLUMNS = (Column("", "state"), Column("what", "name"), Column("found", "sentence", wraps=True),
           Column("to do", "action", wraps=True))  # fmt: skip


def run(session: Session) -> int:
    """Status 1 if something is wrong; what is only a pity is a warning."""
    problem = _open(session)
    resolved = settings.current(is_collection=session.process is not None)
    checks = list(all_checks(resolved, session.process, problem))
    session.out.table(
        COLUMNS,
        (
            {
                "type": "Check",
                "name": check.name,
                "state": check.state,
                "sentence": check.sentence,
                "action": check.action,
            }
            for check in checks
        ),
    )
    errors = sum(check.state == "error" for check in checks)
    warnings = sum(check.state == "warning" for check in checks)
    session.out.say(f"{counted(errors, 'error')}, {counted(warnings, 'warning')}.")
    return 1 if errors else 0


def _open(session: Session) -> str:
    """A collection that is ill is what this command is for: what is wrong with it, or nothing."""
    if not session.is_collection:
        return ""
    try:
        session.open()
    except Exception as error:  # noqa: BLE001 - whatever is wrong with it is what this command is asked for
        return f"The collection cannot be opened: {str(error).rstrip('.')}."
    return ""
