"""Owns `archivebox persona update` and `delete`."""

from collections.abc import Mapping

from archivebox.cli import personas, settings
from archivebox.cli.deleting import confirm
from archivebox.cli.errors import BadInputError
from archivebox.cli.persona.body import COLUMNS, delete_folder, persona_record, refuse_early, refuse_used
from archivebox.cli.selection import divided, reads_stdin, tell_or_pass
from archivebox.cli.session import Session
from archivebox.cli.stdin import STDIN, read_records
from archivebox.config.conffile import write_conf
from archivebox.config.personas import Persona
from archivebox.contract.schema import to_env
from archivebox.crawls.models import Crawl, CrawlSchedule

__all__ = ["delete", "refuse_early", "update"]


def update(session: Session, *, names: tuple[str, ...], every: bool, name: str | None, config: tuple[str, ...]) -> int:
    """Nothing is changed where one of it cannot be."""
    if name is None and not config:
        raise BadInputError("Say what to change: --name or --config.")
    said: Mapping[str, str] = {name: to_env(value) for name, value in settings.pairs_of_crawls(config).items()}
    chosen = _chosen(session, names, every=every)
    if name is not None:
        _refuse_name(session, chosen, name)
    for persona in chosen:
        write_conf(persona.conf, dict(said))
        renamed = persona if name is None else Persona(persona.folder.rename(personas.named(session, name).folder))
        session.out.event(persona_record(renamed), f"Changed {renamed.folder}.")
    return 0


def _refuse_name(session: Session, chosen: list[Persona], name: str) -> None:
    """BadInputError where these cannot have this name."""
    if len(chosen) > 1:
        raise BadInputError(f"{len(chosen)} personas cannot have one name. Nothing was done.")
    if personas.named(session, name).exists:
        raise BadInputError(f"There is a persona {name} already. Nothing was done.")
    for persona in chosen:
        by_schedule = any(row.template["persona"] == persona.name for row in CrawlSchedule.objects.all())
        if by_schedule or Crawl.objects.filter(persona=persona.name).exists():
            raise BadInputError(f"Crawls or schedules are to run as {persona.name}: its name stays. Nothing was done.")


def delete(session: Session, *, names: tuple[str, ...], every: bool, yes: bool, dry_run: bool) -> int:
    chosen = _chosen(session, names, every=every)
    for persona in chosen:
        refuse_used(persona)

    def show() -> None:
        session.out.table(COLUMNS, map(persona_record, chosen))

    what = "deleted with profile and cookies"
    if chosen and confirm(session, len(chosen), "persona", what, show, yes=yes, dry_run=dry_run):
        for persona in chosen:
            delete_folder(session, persona)
    return 0


def _chosen(session: Session, names: tuple[str, ...], *, every: bool) -> list[Persona]:
    known = [name for name in names if name != STDIN]
    said = ("personas", "names", "`archivebox persona list`")
    if reads_stdin(every=every, dash=STDIN in names, chosen=bool(known), all_at_terminal=False, said=said):
        own, others = divided(read_records(session.out), "Persona")
        tell_or_pass(session.out, others, passes=True)
        known += [str(record.fields.get("name") or "") for record in own]
    return personas.all_of(session) if every else [personas.find(session, name) for name in dict.fromkeys(known)]
