"""Owns reading accounts, schedules and settings of an earlier ArchiveBox."""

from collections.abc import Iterator
from pathlib import Path

from archivebox.config.conffile import ConfError, read_conf
from archivebox.imports.accounts_and_settings import AccountsAndSettings, ImportedSchedule, ImportedUser
from archivebox.imports.readers.old.database import OldDatabase, Row
from archivebox.imports.readers.old.moments import moment
from archivebox.imports.readers.old.record import split_tags

CONF = "ArchiveBox.conf"
OWN_SETTINGS, OWN_ACCOUNTS = frozenset({"SECRET_KEY"}), frozenset({"system"})
"""What every installation makes for itself."""
MOST_CONF = 1024 * 1024
WORDS = {"hour": "hourly", "day": "daily", "week": "weekly", "month": "monthly", "year": "yearly"}
"""How often, in its words → in ours; the others are alike."""


def accounts_and_settings_of(root: Path, database: OldDatabase | None) -> AccountsAndSettings:
    """Settings come from its file; whatever is wrong with that is said."""
    users = tuple(_users(database)) if database is not None else ()
    schedules = tuple(_schedules(database)) if database is not None else ()
    conf, settings, problem = root / CONF, dict[str, str](), ""
    if conf.is_file() and not conf.is_symlink() and conf.stat().st_size <= MOST_CONF:
        try:
            settings = {name: value for name, value in read_conf(conf).items() if name not in OWN_SETTINGS}
        except ConfError as error:
            problem = str(error)
    return AccountsAndSettings(users, schedules, settings, problem)


def _users(database: OldDatabase) -> Iterator[ImportedUser]:
    for row in database.rows_of("auth_user"):
        username = str(row["username"])
        if username not in OWN_ACCOUNTS:
            yield ImportedUser(
                username, str(row["password"]), email=_text(row, "email"), first_name=_text(row, "first_name"),
                last_name=_text(row, "last_name"), is_superuser=bool(row.get("is_superuser")),
                is_staff=bool(row.get("is_staff")), is_active=bool(row.get("is_active")),
                joined_at=moment(row.get("date_joined")),
            )  # fmt: skip


def _schedules(database: OldDatabase) -> Iterator[ImportedSchedule]:
    crawls = {row["id"]: row for row in database.rows_of("crawls_crawl")}
    for row in database.rows_of("crawls_crawlschedule"):
        crawl, schedule = crawls.get(row.get("template_id"), {}), _text(row, "schedule")
        yield ImportedSchedule(
            WORDS.get(schedule, schedule), tuple(_text(crawl, "urls").split()), _number(crawl.get("max_depth")),
            split_tags(crawl.get("tags_str")), _text(row, "label") or _text(crawl, "label"),
            is_enabled=bool(row.get("is_enabled")),
        )  # fmt: skip


def _text(row: Row, name: str) -> str:
    value = row.get(name)
    return value if isinstance(value, str) else ""


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
