"""The only builder of paths in the data folder."""

import errno
import os
from dataclasses import dataclass
from datetime import date
from pathlib import Path

USERS = "users"
DEFAULT_PERSONA = "Default"
"""The persona of crawls that name none: hooks find it in ``ACTIVE_PERSONA``."""


@dataclass(frozen=True, slots=True)
class DataFolder:
    """One collection on disk; every path in it is made here and nowhere else."""

    root: Path

    @property
    def database(self) -> Path:
        return self.root / "index.sqlite3"

    @property
    def conf(self) -> Path:
        return self.root / "ArchiveBox.conf"

    @property
    def users(self) -> Path:
        return self.root / USERS

    @property
    def machines(self) -> Path:
        return self.root / "machines"

    @property
    def personas(self) -> Path:
        return self.root / "personas"

    def persona(self, name: str) -> Path:
        return self.personas / name

    @property
    def sources(self) -> Path:
        return self.root / "sources"

    @property
    def incoming(self) -> Path:
        """Copies of what was given to commands that have not committed yet."""
        return self.sources / ".incoming"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def plugins(self) -> Path:
        return self.root / "plugins"

    @property
    def run(self) -> Path:
        return self.root / "run"

    @property
    def wakeup_file(self) -> Path:
        """Touched by whoever commits work that can be done; sleeping workers watch it."""
        return self.run / "doorbell"

    @property
    def viewers_wakeup_file(self) -> Path:
        """Touched by workers after each commit; the web server watches it while somebody watches a page."""
        return self.run / "viewers-bell"

    @property
    def orchestrator_lock(self) -> Path:
        return self.run / "orchestrator.lock"

    @property
    def alive(self) -> Path:
        """Its lock is shared by the orchestrator and its workers: whoever gets it alone knows that all are gone."""
        return self.run / "alive"

    @property
    def init_lock(self) -> Path:
        return self.run / "init.lock"

    @property
    def write_lock(self) -> Path:
        """Held by whoever writes to the SQLite database right now."""
        return self.run / "write.lock"

    @property
    def reindexed(self) -> Path:
        """How far the search index is while it is made anew."""
        return self.run / "reindexed"

    @property
    def imports(self) -> Path:
        """Lists of URLs that people gave to be looked at before they are added."""
        return self.root / "imports"

    @property
    def uploads(self) -> Path:
        """Files that people uploaded to import what is in them, until that has ended; a folder each."""
        return self.imports / "uploads"

    @property
    def exports(self) -> Path:
        """What jobs have written for somebody to fetch; made when the first one does."""
        return self.root / "exports"

    @property
    def backups(self) -> Path:
        """Copies of the database from before its last migrations; made by the first one."""
        return self.root / "backups"

    @property
    def restore_mark(self) -> Path:
        """There as long as a backup is being restored into this folder, or that was interrupted."""
        return self.root / ".restore"

    @property
    def last_backup(self) -> Path:
        """When the last backup was made, and where it is, a line each."""
        return self.run / "last-backup"

    @property
    def rewritten(self) -> Path:
        """Large archived documents as replay shows them; made again when they are lost."""
        return self.run / "rewritten"

    @property
    def script_views(self) -> Path:
        """What is remembered of archived pages whose scripts run, a file a view; some of it are their URLs."""
        return self.run / "script-views"

    @property
    def machine_id(self) -> Path:
        return self.run / "machine-id"

    @property
    def fleet_settings(self) -> Path:
        """A copy of the settings that all machines share, where they share a database."""
        return self.run / "fleet-settings.json"

    @property
    def finite_hooks(self) -> Path:
        """SHA-256 and name of each background hook that was at work when it was told to stop, one a line."""
        return self.run / "finite-hooks"

    @property
    def secret_key(self) -> Path:
        """What log-ins and addresses of archived pages are signed with; made by the server, 0600."""
        return self.run / "secret-key"

    @property
    def secret_key_fingerprint(self) -> Path:
        """Of the SECRET_KEY with which the keys were last read from the database, where machines share one."""
        return self.run / "secret-key-fingerprint"

    @property
    def keys(self) -> Path:
        """What hashes of pages are signed with, and every public key that did; made by the first signature."""
        return self.root / "keys"

    @property
    def listening(self) -> Path:
        """The ports of the web server, which locks this file as long as it lives."""
        return self.run / "listening"

    @property
    def supervisord_conf(self) -> Path:
        return self.run / "supervisord.conf"

    @property
    def supervisord_pid(self) -> Path:
        """Written by supervisord itself, and taken away when it ends."""
        return self.run / "supervisord.pid"

    @property
    def supervisord_socket(self) -> Path:
        return self.run / "supervisord.sock"

    @property
    def commands_socket(self) -> Path:
        """Where a running server's process takes commands of this user (:mod:`archivebox.cli.handover`)."""
        return self.run / "commands.sock"

    @property
    def workers(self) -> Path:
        return self.run / "workers"

    @property
    def watchers(self) -> Path:
        return self.run / "watchers"

    @property
    def spawn_logs(self) -> Path:
        return self.run / "spawn"

    @property
    def tabs(self) -> Path:
        """A file for each tab that this machine may have open, locked while it is."""
        return self.run / "tabs"

    @property
    def crawl_ports(self) -> Path:
        """The port by which each crawl goes out, as long as it may have processes."""
        return self.run / "egress"

    @property
    def exits(self) -> Path:
        return self.run / "exits"

    @property
    def page_copies(self) -> Path:
        """A file for each page whose folder is a copy of an object of STORAGE_URL; made with the first one."""
        return self.run / "page-copies"

    def crawl_port(self, crawl_id: object) -> Path:
        return self.crawl_ports / str(crawl_id)

    def worker_lock(self, process_id: object) -> Path:
        return self.workers / str(process_id)

    def watcher_lock(self, process_id: object) -> Path:
        return self.watchers / str(process_id)

    def spawn_log(self, process_id: object) -> Path:
        return self.spawn_logs / f"{process_id}.jsonl"

    def warm_hooks(self, process_id: object) -> Path:
        """Where hooks wait that a worker has started ahead of their crawl."""
        return self.run / "warm" / str(process_id)

    def exit_record(self, pid: int, start_ticks: int) -> Path:
        return self.exits / f"{pid}-{start_ticks}.json"

    def process_log(self, name: str, process_id: object, stream: str) -> Path:
        """Output of a process of ours that is no hook: ``logs/worker.<process id>.stderr.log``."""
        return self.logs / f"{name}.{process_id}.{stream}.log"

    def crawl_dir(self, user: str, day: date, crawl_id: object) -> Path:
        return self.users / user / "crawls" / f"{day:%Y%m%d}" / str(crawl_id)

    def snapshot_place(self, user: str, day: date, domain: str, snapshot_id: object) -> str:
        """Relative, as rows have it, and without a Path: the seven it takes cost 15 µs a URL."""
        return f"{USERS}/{user}/snapshots/{day:%Y%m%d}/{domain}/{snapshot_id}"

    def binary_dir(self, machine_id: object, name: str, binary_id: object) -> Path:
        return self.machines / str(machine_id) / "binaries" / name / str(binary_id)

    def make_folder(self, path: Path, mode: int = 0o777) -> None:
        """Make a folder in the collection, and those above it; FileNotFoundError where the collection is gone.

        Its disk may be away for a moment: what is made in its place would be hidden below it, or be taken for it.
        """
        if not self.run.is_dir():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self.run))
        path.mkdir(mode, parents=True, exist_ok=True)

    def create(self) -> None:
        """Make the folders of an empty collection; those that are there stay as they are.

        All are their owner's alone, but for `users`, where the archived files are: its mode follows from the umask.
        """
        self.users.mkdir(parents=True, exist_ok=True)
        for folder in (self.machines, self.personas, self.sources, self.logs, self.plugins, self.run):
            folder.mkdir(mode=0o700, exist_ok=True)
        for folder in (self.persona(DEFAULT_PERSONA), self.workers, self.watchers, self.spawn_logs, self.exits):
            folder.mkdir(mode=0o700, exist_ok=True)

    def relative(self, path: Path) -> str:
        """``path`` as it is stored in rows: relative to the collection, so that a collection can be moved."""
        return path.relative_to(self.root).as_posix()


def machine_place(crawl_place: str, machine_id: object) -> str:
    """The folder of a crawl on a machine that is not its first, relative as rows have it.

    Machines may have `users` in common, and hooks of a crawl write down where the browser of their machine is.
    """
    return f"{crawl_place}/{MACHINES}/{machine_id}"


def egress_dir(crawl_dir: Path) -> Path:
    """Where the connections of a crawl on one machine are written down."""
    return crawl_dir / EGRESS


def egress_dirs(crawl_dir: Path) -> list[Path]:
    """Those of all machines that have written some down in this data folder."""
    return [egress_dir(crawl_dir), *crawl_dir.glob(f"{MACHINES}/*/{EGRESS}")]


MACHINES = ".machines"
"""Folder beside the plugin folders of a crawl: the folders of its other machines."""

EGRESS = "egress"


HOOK_RUNS = ".hooks"
"""Folder beside the plugin folders of an object: what the engine keeps of each hook run."""

PACKED_RUNS = "runs.jsonl"
"""File in it with what is small of the runs of a sealed page: a line each, with ``run`` and its files by suffix."""


def hook_file(object_dir: Path, file_name: str, process_id: object, suffix: str) -> str:
    """A file of one hook run; ``suffix`` is ``stdout.log``, ``stderr.log``, ``cmd.sh`` or ``pid``.

    Without a Path: each of its slashes costs 3 µs, for every hook.
    """
    return f"{object_dir}/{HOOK_RUNS}/{file_name}.{process_id}.{suffix}"
