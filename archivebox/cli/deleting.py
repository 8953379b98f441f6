"""Owns asking before rows are removed, for whatever they are."""

from collections.abc import Callable

from archivebox.cli.output import counted
from archivebox.cli.session import Session


def confirm(
    session: Session, count: int, noun: str, verb: str, show: Callable[[], object], *, yes: bool, dry_run: bool
) -> bool:
    """Whether to go on: ``yes``, or somebody at a terminal said so, having been shown which they are."""
    if yes and not dry_run:
        return True
    show()
    if not dry_run and session.out.ask(f"{counted(count, noun)} will be {verb}. Continue?"):
        return True
    hint = "" if dry_run else " --yes does it."
    session.out.say(f"Nothing was done: {counted(count, noun)} would be {verb}.{hint}")
    return False
