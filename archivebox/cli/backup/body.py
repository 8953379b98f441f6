"""Owns `archivebox backup list`, `verify` and `prune`: they need no collection, which may be lost."""

from dataclasses import asdict

from archivebox.backup.checking import BackupVerdict, check_generation
from archivebox.backup.generations import Destination, DestinationError, Generation
from archivebox.backup.manifest import BackupSummary, ManifestError, read_summary
from archivebox.backup.retention import KeepRule
from archivebox.backup.retention import prune as delete_superfluous
from archivebox.cli.errors import BadInputError
from archivebox.cli.output import Column, counted
from archivebox.cli.session import OUR_ERROR, Session
from archivebox.lib.quantities import size

COLUMNS = (
    Column("backup", "generation"),
    Column("files", "files", right=True),
    Column("size", lambda record: size(_number(record["bytes"])), right=True),
    Column("new", lambda record: size(_number(record["copied_bytes"])), right=True),
    Column("database", "database"),
    Column("version", "version"),
    Column("problem", "problem", wraps=True),
)


def list_(session: Session, *, destination: str) -> int:
    target = Destination.at(destination)
    try:
        records = [_record_of(generation) for generation in target.generations()]
        interrupted = target.incomplete()
    except DestinationError as problem:
        raise BadInputError(str(problem)) from None
    session.out.table(COLUMNS, records, empty=f"There is no complete backup in {target.folder}.")
    if interrupted:
        session.out.say(f"{counted(len(interrupted), 'interrupted backup')}: the next one continues it.")
    return 0


def verify(session: Session, *, destination: str, generation: str | None) -> int:
    """Status 1 if anything differs."""
    try:
        found = Destination.at(destination).find(generation)
        with session.out.live() as draw:
            verdict = check_generation(found, lambda at, whole: draw([progress(at.files, at.bytes, whole)]))
    except DestinationError as problem:
        raise BadInputError(str(problem)) from None
    except ManifestError as problem:
        session.out.warn(str(problem))
        return OUR_ERROR
    _tell(session, found, verdict)
    return 0 if verdict.is_whole else OUR_ERROR


def prune(session: Session, *, destination: str, dry_run: bool, **counts: int | None) -> int:
    rules = {KeepRule(name): count for name, count in counts.items() if count is not None}
    if not rules:
        raise BadInputError(
            "Say what is kept: --keep-last, --keep-daily, --keep-weekly, --keep-monthly, --keep-yearly."
        )
    target = Destination.at(destination)
    try:
        removed = delete_superfluous(target, rules, dry_run=dry_run)
        kept = len(target.generations()) - (len(removed) if dry_run else 0)
    except DestinationError as problem:
        raise BadInputError(str(problem)) from None
    names = [generation.name for generation in removed]
    verb = "would be deleted" if dry_run else "deleted"
    record = {"type": "Pruning", "deleted": names, "kept": kept, "dry_run": dry_run}
    sentence = f"{counted(len(names), 'backup')} {verb}, {kept:,} kept."
    session.out.event(record, *names, sentence)
    return 0


def _record_of(generation: Generation) -> dict[str, object]:
    try:
        summary, problem = read_summary(generation.folder), ""
    except ManifestError as error:
        summary, problem = BackupSummary(generation=generation.name), str(error)
    return {"type": "Backup", "folder": str(generation.folder), **asdict(summary), "problem": problem}


def _tell(session: Session, generation: Generation, verdict: BackupVerdict) -> None:
    record = {"type": "BackupVerdict", "generation": generation.name, "is_whole": verdict.is_whole, **asdict(verdict)}
    sentence = (
        f"{counted(verdict.files, 'file')} ({size(verdict.bytes)}) of {generation.name} are as they were backed up."
    )
    session.out.event(record, *([sentence] if verdict.is_whole else []))
    for paths, what in ((verdict.changed, "Changed"), (verdict.missing, "Missing"), (verdict.added, "Not ours")):
        session.out.warn_each(what, [generation.folder / path for path in paths])
    if verdict.changed or verdict.missing:
        session.out.warn("`archivebox backup DEST --verify` makes a new backup with fresh copies of these files.")


def progress(files: int, read: int, whole: BackupSummary) -> str:
    """How much of a backup was read; ``read``: in bytes."""
    return f"{files:,} of {counted(whole.files, 'file')}, {size(read)} of {size(whole.bytes)}"


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
