"""Carries out `archivebox doctor`: each check says what it found, and what to do about it."""

import os
import platform
import random
import re
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from django.db import DatabaseError, connection
from django.utils import timezone

from archivebox.backup.destination import last_backup
from archivebox.cli import settings
from archivebox.cli.former import SETTINGS_INSTEAD, without_effect
from archivebox.cli.output import Column, counted
from archivebox.cli.server import sandbox_problem
from archivebox.cli.session import Session
from archivebox.config.collection import is_collection
from archivebox.config.conffile import ConfError
from archivebox.config.core import CORE_SETTINGS
from archivebox.config.database_copy import sqlite_damage
from archivebox.config.page_storage import has_store, object_store
from archivebox.config.resolve import Resolved
from archivebox.config.settings import DATA_FOLDER
from archivebox.contract.binaries import BinaryRequest, merge
from archivebox.contract.lint import lint
from archivebox.contract.reasons import Reason
from archivebox.core.evidence.verification import PAGES_AT_ONCE, damage_of, with_listed_files
from archivebox.core.models import Snapshot, StoredObject
from archivebox.hooks import known_finite_hooks, lib_dir, needed_programs, plugins
from archivebox.lib.object_store import ObjectStoreError
from archivebox.machine.machine_id import is_fleet
from archivebox.machine.models import Binary, Machine, Process
from archivebox.machine.plugin_sets import plugin_differences, report_plugins
from archivebox.replay.addresses import Replay
from archivebox.workers.queue.disk_space import DiskSpaceGuard

State = Literal["ok", "warning", "error"]

GIGABYTE = 1_000_000_000
OLD_BACKUP = timedelta(days=8)
"""Age from which a backup is one that was forgotten: those who make them do so each week at least."""
CLOCK_BEHIND = timedelta(minutes=5)
"""Machines that share a database may differ by less."""
PAGES_TIME = 10.0
"""Seconds for looking at pages: some thousands of them."""


class Check(NamedTuple):
    """One thing that was looked at; ``action`` is empty where nothing is to be done."""

    name: str
    state: State
    sentence: str
    action: str = ""


def all_checks(settings: Resolved, parent: Process | None, problem: str = "") -> Iterator[Check]:
    """Every check. ``parent`` is the command's row: None where there is no collection, or it is ill (``problem``)."""
    yield _python()
    yield _data_folder()
    if parent is not None or problem:
        yield from _database(problem)
    yield from search_index()
    yield _disk(settings)
    if parent is not None:
        yield clock()
        yield _backup()
        yield _hard_links()
        yield from _object_store() if has_store() else _pages()
    yield from _settings(settings)
    yield from _scripts_of_pages(settings)
    yield from _plugins()
    if parent is not None and is_fleet():
        yield _plugins_of_machines()
    yield from _programs(settings, known=parent is not None)
    yield from _fonts()
    yield _shared_memory()
    yield _namespaces(parent)


def _python() -> Check:
    versions = f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, {platform.platform()}"
    with sqlite3.connect(":memory:") as memory:
        options = {row[0] for row in memory.execute("PRAGMA compile_options")}
    if "ENABLE_FTS5" not in options:
        return Check(
            "python", "warning", f"{versions}, without FTS5.", "Use a Python whose SQLite has FTS5, for search."
        )
    return Check("python", "ok", f"{versions}.")


def _data_folder() -> Check:
    root = DATA_FOLDER.root
    if not is_collection(DATA_FOLDER):
        return Check(
            "data folder", "warning", f"There is no collection in {root}.", "`archivebox init` makes one there."
        )
    if not os.access(root, os.W_OK):
        return Check(
            "data folder",
            "error",
            f"{root} cannot be written.",
            f"Give this user the right: chown -R {os.getuid()} {root}",
        )
    return Check("data folder", "ok", f"{root}")


def _database(problem: str) -> Iterator[Check]:
    if problem:
        yield Check(
            "database", "error", problem, "See logs/cli.log; restore index.sqlite3 from a backup if it is damaged."
        )
        return
    if connection.vendor != "sqlite":
        yield Check("database", "ok", f"{connection.display_name} answers.")
        return
    try:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA journal_mode")
            mode = cursor.fetchone()[0]
    except DatabaseError as error:
        yield Check(
            "database", "error", f"The database cannot be read: {error}.", "Restore index.sqlite3 from a backup."
        )
        return
    size = DATA_FOLDER.database.stat().st_size
    if damage := sqlite_damage(DATA_FOLDER.database):
        yield Check(
            "database", "error", f"It is damaged: {damage}.", "Copy the folder, then: sqlite3 index.sqlite3 .recover"
        )
    elif mode != "wal":
        yield Check(
            "database",
            "warning",
            f"Its journal is {mode}, not WAL.",
            "Use a disk that supports locks and shared memory.",
        )
    else:
        yield Check("database", "ok", f"{size / 1e6:,.1f} MB, write-ahead log, no damage found.")


def search_index() -> Iterator[Check]:
    """Where there is one of SQLite."""
    index = DATA_FOLDER.root / "search.sqlite3"
    if index.exists():
        damage = sqlite_damage(index)
        sentence = f"It is damaged: {damage}." if damage else f"{index.stat().st_size / 1e6:,.1f} MB, no damage found."
        yield Check("search index", "error" if damage else "ok", sentence, "archivebox manage reindex" * bool(damage))


def _disk(settings: Resolved) -> Check:
    place = next(path for path in (DATA_FOLDER.root, *DATA_FOLDER.root.parents) if path.exists())
    free = shutil.disk_usage(place).free
    sentence = f"{free / 1e9:,.1f} GB free."
    if problem := DiskSpaceGuard(place, settings.get_int("DISK_FREE_MIN")).problem():
        return Check("disk", "error", f"{sentence} {problem}", "Make room there, or use another disk.")
    if free < 5 * GIGABYTE:
        return Check("disk", "warning", sentence, "Free some: a page takes 5 to 50 MB, a video much more.")
    return Check("disk", "ok", sentence)


def clock() -> Check:
    """Whether it is behind what was recorded: pages, hooks and schedules may wait until the day it was set to."""
    ahead = Process.objects.filter(started_at__gt=timezone.now() + CLOCK_BEHIND).order_by("started_at").last()
    if ahead is None:
        return Check("clock", "ok", "No process was recorded at a later time than now.")
    return Check(
        "clock",
        "warning",
        f"It is behind a process that was recorded at {ahead.started_at:%Y-%m-%d %H:%M} UTC.",
        "Set it right. If it was ahead then, `archivebox run` starts what waits for that time.",
    )


def _backup() -> Check:
    last = last_backup(DATA_FOLDER)
    if last is None:
        return Check("backup", "ok", "None was made by `archivebox backup`.", "`archivebox backup FOLDER` makes one.")
    if datetime.now(UTC) - last.made_at > OLD_BACKUP:
        return Check("backup", "warning", f"The last is of {last}.", f"archivebox backup {last.destination}")
    return Check("backup", "ok", f"The last is of {last}.")


def _hard_links() -> Check:
    problem = hard_link_problem(DATA_FOLDER.users)
    if problem:
        return Check(
            "hard links", "warning",
            f"None can be made in {DATA_FOLDER.users} ({problem}): each page stores what it has in common with others.",
            "Use a disk with hard links (not SMB, FAT or exFAT), then `archivebox storage dedupe`.",
        )  # fmt: skip
    return Check("hard links", "ok", "Pages of one owner share the bodies that they have in common.")


def hard_link_problem(folder: Path) -> str:
    """Why no hard links can be made in a folder; empty where they can."""
    try:
        with tempfile.TemporaryDirectory(prefix=".links-", dir=folder) as name:
            file = Path(name, "file")
            file.touch()
            file.with_name("link").hardlink_to(file)
    except OSError as error:
        return str(error.strerror)
    return ""


def _pages() -> Iterator[Check]:
    """Those that can be looked at in a few seconds, chosen at random: files are there, as large and old as hashed."""
    keys = list(Snapshot.objects.kept().filter(status=Snapshot.StatusChoices.SEALED).values_list("pk", flat=True))
    random.shuffle(keys)
    end, seen, damaged = time.monotonic() + PAGES_TIME, 0, 0
    while seen < len(keys) and time.monotonic() < end:
        some = with_listed_files(Snapshot.objects.filter(pk__in=keys[seen : seen + PAGES_AT_ONCE]))
        found = damage_of(some, is_quick=True)
        yield from (
            Check("pages", "error", f"{page.url}: {found[page.pk]}", f"archivebox snapshot verify {page.pk}")
            for page in some if page.pk in found
        )  # fmt: skip
        seen, damaged = min(seen + PAGES_AT_ONCE, len(keys)), damaged + len(found)
    sample = "" if seen == len(keys) else f" chosen at random of {len(keys):,}"
    action = "Restore their files from a backup (`archivebox restore`), or capture them again." if damaged else ""
    sentence = f"{seen - damaged:,} of {seen:,} archived pages{sample} have all their files."
    yield Check("pages", "error" if damaged else "ok", sentence, action)


def _object_store() -> Iterator[Check]:
    try:
        object_store().size_of("collection/doctor")
    except (ConfError, ObjectStoreError) as error:
        yield Check(
            "object store", "error", f"Pages cannot be stored: {error}",
            "Check STORAGE_URL and the credentials (docs/storage.md).",
        )  # fmt: skip
        return
    waiting = Snapshot.objects.unsealed().filter(reason=Reason.STORE_UNAVAILABLE).count()
    stored = StoredObject.objects.current().count()
    waits = f", {waiting} waiting to be stored" if waiting else ""
    yield Check("object store", "ok", f"It answers. {stored} pages are in it{waits}.")


def _settings(settings: Resolved) -> Iterator[Check]:
    former = [("environment", name) for name, _ in without_effect(os.environ)]
    for layer, name in [*settings.unknown, *former]:
        instead = SETTINGS_INSTEAD.get(name)
        yield Check(
            "settings",
            "warning",
            f"{name} ({layer}) {'has no effect' if instead else 'is not a setting'}.",
            f"Remove it: {instead}." if instead else "`archivebox config list --all` shows those that are.",
        )
    for error in settings.errors:
        yield Check(
            "settings", "error", f"{error}.", "Correct it there; Run `archivebox config explain NAME` for details."
        )
    if not settings.unknown and not settings.errors and not former:
        yield Check("settings", "ok", "Every setting is known and allowed.")


def _scripts_of_pages(settings: Resolved) -> Iterator[Check]:
    """Where a proxy is set up: whether archived pages can be shown with their scripts."""
    app, shown = settings.get_text("BASE_URL"), settings.get_text("REPLAY_URL")
    if (app or shown) and not Replay(0, shown, app).runs_scripts(urlsplit(app).netloc):
        lacks = "is on the same domain as BASE_URL" if "*" in shown else "gives pages no host name of their own"
        yield Check(
            "archived pages",
            "warning",
            f"Their scripts cannot run: REPLAY_URL {lacks}.",
            "Set it to a name with a * on another domain, as docs/reverse-proxy.md shows; without it scripts stay off.",
        )


def _plugins() -> Iterator[Check]:
    messages = lint(plugins(), CORE_SETTINGS, known_finite_hooks())
    for message in messages:
        where = "/".join(filter(None, (message.plugin, message.hook)))
        action = "Correct it; `archivebox plugin lint` looks again."
        yield Check("plugins", message.level, f"{where}: {message.text}.", action)
    if not messages:
        yield Check("plugins", "ok", "Every plugin can be understood.")


def _plugins_of_machines() -> Check:
    name = "plugins of all machines"
    report_plugins()
    for difference in plugin_differences([Machine.current()]).values():
        action = "Have the same version of ArchiveBox and the same files in plugins/ on all machines."
        return Check(name, "warning", f"Outputs depend on the machine: {difference}.", action)
    return Check(name, "ok", "This machine has the plugins of the others.")


def _programs(settings: Resolved, *, known: bool) -> Iterator[Check]:
    """What plugins that are on need: recorded as there, found in PATH, or missing."""
    wanted = [plugin for plugin in plugins().values() if settings.is_enabled(plugin)]
    rows = {row.name: row for row in Binary.objects.filter(machine=Machine.current())} if known else {}
    path = f"{lib_dir(settings) / 'bin'}{os.pathsep}{os.environ.get('PATH') or os.defpath}"
    for name, request in sorted(
        merge(chain.from_iterable(needed_programs(plugin, settings) for plugin in wanted))[0].items()
    ):
        row = rows.get(name)
        if row is not None and row.is_there:
            yield Check(name, "ok", f"{row.version} {row.abspath}".strip())
            continue
        found = next(filter(None, (shutil.which(each, path=path) for each in _names(request))), None)
        askers = ", ".join(plugin.name for plugin in wanted if name in {asked.name for asked in plugin.binaries})
        if found:
            yield Check(name, "ok", f"{found} (its version is checked when it is first needed)")
        else:
            why = f" {row.message.strip()}" if row is not None and row.message else ""
            yield Check(name, "warning", f"Not there; needed by {askers}.{why}", f"archivebox install {name}")


def _names(request: BinaryRequest) -> list[str]:
    """The names that a program goes by, as its request tells the env provider."""
    options = request.overrides.get("env")
    names = options.get("names") if isinstance(options, dict) else None
    return [request.name, *map(str, names if isinstance(names, list) else [])]


FONTS = {
    "Chinese, Japanese and Korean letters": (
        re.compile(r"cjk|ipa(ex)?[gm]|wqy|takao|pingfang|hiragino"),
        "fonts-noto-cjk",
    ),
    "emoji": (re.compile(r"emoji"), "fonts-noto-color-emoji"),
    "Latin letters": (re.compile(r"liberation|dejavu|arial|helvetica|noto ?sans-"), "fonts-liberation"),
}
FONT_FOLDERS = (
    "/usr/share/fonts",
    "/usr/local/share/fonts",
    "/System/Library/Fonts",
    "/Library/Fonts",
    "~/.fonts",
    "~/.local/share/fonts",
)


def _fonts() -> Iterator[Check]:
    """By the files' names; a missing script is boxes in every picture, for ever."""
    folders = [Path(folder).expanduser() for folder in FONT_FOLDERS]
    names = [name.lower() for folder in folders for _, _, files in os.walk(folder) for name in files]
    for script, (pattern, package) in FONTS.items():
        if any(pattern.search(name) for name in names):
            yield Check("fonts", "ok", f"{script[0].upper()}{script[1:]} can be drawn.")
        else:
            yield Check(
                "fonts", "warning", f"No font has {script}: pictures would show boxes.", f"apt-get install {package}"
            )


def _shared_memory() -> Check:
    name = "shared memory"
    if sys.platform != "linux":
        return Check(name, "ok", "Not used on this system.")
    mount = "/dev/shm"  # noqa: S108 - nothing is put there: its size is asked
    try:
        size = os.statvfs(mount).f_blocks * os.statvfs(mount).f_frsize
    except OSError as error:
        return Check(name, "warning", f"{mount}: {error.strerror}.", "Mount it; until then Chromium uses the disk.")
    if size < GIGABYTE:
        action = "Give it 1 GB (docker run --shm-size=1g); until then Chromium uses the disk, more slowly."
        return Check(name, "warning", f"{mount} has {size / 1e6:,.0f} MB.", action)
    return Check(name, "ok", f"{mount} has {size / 1e9:,.1f} GB.")


def _namespaces(parent: Process | None) -> Check:
    if sys.platform != "linux":
        return Check("sandbox", "ok", "The system's own is used.")
    if problem := sandbox_problem(parent):
        return Check("sandbox", "warning", problem.sentence, problem.action)
    if parent is None:
        return Check("sandbox", "ok", "Not tested: there is no collection to record the result in.")
    return Check("sandbox", "ok", "This user can create user namespaces: Chromium's sandbox works.")


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
