"""Carries out `archivebox persona`: making personas, looking at them, giving them cookies, removing them."""

import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from django.contrib.auth.models import User

from archivebox.cli import settings
from archivebox.cli.errors import BadInputError
from archivebox.cli.listing import ListOptions, confirm, show_rows
from archivebox.cli.output import Column, counted
from archivebox.cli.selection import STDIN, divided, read_records, reads_stdin, tell_or_pass
from archivebox.cli.session import Session
from archivebox.config.conffile import write_conf
from archivebox.config.core import PERSONA_NAME
from archivebox.config.personas import Persona, personas_in
from archivebox.contract.schema import to_env
from archivebox.crawls.models import Crawl, CrawlSchedule
from archivebox.lib.suggestions import did_you_mean


def persona_named(session: Session, name: str) -> Persona:
    """The persona of this name, which need not be there; BadInputError for what is no name."""
    if not re.search(PERSONA_NAME, name):
        raise BadInputError(f"{name!r} is not a persona's name: use letters, digits, spaces and . _ -.")
    return Persona(session.folder.persona(name))


def all_personas(session: Session) -> list[Persona]:
    """Every persona of this collection, by name."""
    return personas_in(session.folder.personas)


def find_persona(session: Session, name: str) -> Persona:
    """The persona of this name; BadInputError with the nearest names if there is none."""
    persona = persona_named(session, name)
    if not persona.exists:
        known = (one.name for one in all_personas(session))
        hint = did_you_mean(name, known, f"`archivebox persona create '{name}'` makes it.")
        raise BadInputError(f"There is no persona {name}. {hint}")
    return persona


COOKIES_MAX = 10_000_000
"""Bytes of a cookies.txt: browsers keep a few thousand cookies of at most 4 KB."""

COLUMNS = (
    Column("persona", "name"),
    Column("cookies", "cookies"),
    Column("profile", "profile"),
    Column("shared with", lambda record: ", ".join(record["users"]), wraps=True),  # type: ignore[arg-type]  # a list
    Column("settings", lambda record: ", ".join(record["settings"]), wraps=True),  # type: ignore[arg-type]  # a list
)
LABELS = {
    "name": "persona", "folder": "folder", "settings": "settings", "cookies": "cookies", "profile": "profile",
    "users": "shared with",
    "log_in": "to log in, start and close",
}  # fmt: skip
SECRETS_INSTEAD = "Write it to the persona's persona.conf, which is yours alone."


def list_(
    session: Session,
    *,
    where: Mapping[str, str],
    limit: int | None,
    csv: str | None,
    with_headers: bool,
) -> int:
    part = where.get("name__icontains", "").lower()
    found = [
        persona_record(persona)
        for persona in all_personas(session)
        if where.get("name", persona.name) == persona.name and part in persona.name.lower()
    ]
    options = ListOptions(csv=csv, with_headers=with_headers)
    show_rows(session.out, COLUMNS, found[:limit], options, empty="No persona matches.")
    return 0


def create(session: Session, *, names: tuple[str, ...], config: tuple[str, ...]) -> int:
    """All of them, or none where one cannot be made."""
    wanted = [persona_named(session, name) for name in dict.fromkeys(names)]
    said = {name: to_env(value) for name, value in settings.pairs_of_crawls(config).items()}
    for persona in wanted:
        if persona.exists:
            hint = f"`archivebox persona show '{persona.name}'` shows it."
            raise BadInputError(f"There is a persona {persona.name} already. {hint}")
    for persona in wanted:
        persona.create(said)
        hint = f"`archivebox persona show '{persona.name}'` says how to log in."
        session.out.event(persona_record(persona), f"Made {persona.folder}. {hint}")
    return 0


def show(session: Session, *, name: str) -> int:
    persona = find_persona(session, name)
    browser = f"chromium --password-store=basic '--user-data-dir={persona.profile}'"
    session.out.facts({**persona_record(persona), "log_in": browser}, LABELS)
    return 0


def import_cookies(session: Session, *, name: str, file: str) -> int:
    persona = find_persona(session, name)
    try:
        count = persona.import_cookies(_text_of(file))
    except ValueError as error:
        raise BadInputError(f"{file} cannot be imported. {error}") from None
    session.out.event(persona_record(persona), f"{counted(count, 'cookie')} in {persona.cookies}.")
    return 0


def share(session: Session, *, name: str, users: tuple[str, ...]) -> int:
    persona = find_persona(session, name)
    known = set(User.objects.values_list("username", flat=True))
    if unknown := next((user for user in users if user not in known), None):
        raise BadInputError(f"There is no account {unknown}. {did_you_mean(unknown, known, '')}".rstrip())
    persona.share(users)
    with_whom = ", ".join(sorted(users)) or "nobody"
    session.out.event(persona_record(persona), f"{name} is shared with {with_whom}.")
    return 0


def remove(session: Session, *, name: str, yes: bool) -> int:
    persona = find_persona(session, name)
    refuse_used(persona)
    if not (yes or session.out.ask(f"Delete {persona.folder} with its profile and cookies?")):
        session.out.say(f"Nothing was done: {persona.folder} would be deleted. --yes does it.")
        return 0
    delete_folder(session, persona)
    return 0


def refuse_used(persona: Persona) -> None:
    """BadInputError where a crawl that has not ended runs as this persona."""
    users = Crawl.objects.open().filter(persona=persona.name).count()
    if users:
        raise BadInputError(
            f"{counted(users, 'crawl')} still run as {persona.name}: cancel them, or wait for their end."
        )


def delete_folder(session: Session, persona: Persona) -> None:
    shutil.rmtree(persona.folder)
    session.out.event({"type": "Persona", "name": persona.name, "removed": True}, f"Deleted {persona.folder}.")


def _text_of(file: str) -> str:
    try:
        data = sys.stdin.buffer.read(COOKIES_MAX + 1) if file == "-" else _start_of(Path(file))
        if len(data) > COOKIES_MAX:
            raise BadInputError(f"{file} is larger than {COOKIES_MAX // 1_000_000} MB, which no cookies.txt is.")
        return data.decode("utf-8", "replace")
    except OSError as error:
        raise BadInputError(f"{file} cannot be read: {error.strerror}.") from None


def _start_of(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(COOKIES_MAX + 1)


def persona_record(persona: Persona) -> dict[str, object]:
    """What is there; of the settings the names alone, since some are secrets."""
    return {
        "type": "Persona",
        "name": persona.name,
        "folder": str(persona.folder),
        "settings": persona.setting_names,
        "cookies": persona.cookies.is_file(),
        "users": persona.users,
        "profile": persona.has_profile,
    }


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
        renamed = persona if name is None else Persona(persona.folder.rename(persona_named(session, name).folder))
        session.out.event(persona_record(renamed), f"Changed {renamed.folder}.")
    return 0


def _refuse_name(session: Session, chosen: list[Persona], name: str) -> None:
    """BadInputError where these cannot have this name."""
    if len(chosen) > 1:
        raise BadInputError(f"{len(chosen)} personas cannot have one name. Nothing was done.")
    if persona_named(session, name).exists:
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
    return all_personas(session) if every else [find_persona(session, name) for name in dict.fromkeys(known)]
