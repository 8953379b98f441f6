"""Owns ``archivebox server``: supervisord as a process on record, and everything below it, from start to end."""

import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress

from django.db import DatabaseError
from django.db.models import Q

from archivebox.accounts.login_links import make_login_token
from archivebox.base_models.transient import OF_DATABASE, transient_problem
from archivebox.config import keys
from archivebox.config.collection import open_collection, refuse_to_serve_damaged
from archivebox.config.early import early_settings
from archivebox.config.settings import DATA_FOLDER
from archivebox.lib import processes
from archivebox.lib.addresses import ListenAddress
from archivebox.lib.files import atomic_write
from archivebox.machine.process import Process
from archivebox.workers.supervise.first_admin import (
    admin_to_log_in,
    admin_with_password,
    login_address,
    somebody_can_log_in,
)
from archivebox.workers.supervise.orchestrator import RECORD_TIME
from archivebox.workers.supervise.serving import listens, wait_for_end
from archivebox.workers.supervise.supervisord_conf import conf_text
from archivebox.workers.supervise.watch import WIND_DOWN, Interrupted, OrchestratorWatch

ORDERLY = 45.0
"""Seconds that supervisord has to end its programs; their own limits add up to 40."""
UP = 30.0
"""Seconds until the web server has to answer; on a first start it makes its tables."""

Tell = Callable[[str], None]


def _to_terminal(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def serve(bind: str, replay: str = "", tell: Tell = _to_terminal) -> int:
    """Make or open the collection, and serve it until SIGTERM or Ctrl-C. Returns the exit status.

    ``bind`` and ``replay`` are ``host:port``; without ``replay`` archived pages are on the next port. 2: an address
    that is none or taken, or a server that runs already; 1: supervisord died; 130 and 143: interrupted.
    """
    try:
        app = ListenAddress.parse(bind)
        pages = ListenAddress.parse(replay) if replay else app.next_port
    except ValueError as error:
        tell(f"{error}.")
        return 2
    if not wait_for_end(tell):
        tell("It has not ended: one collection has one server. Stop that one first.")
        return 2
    for address in (app, pages):
        if problem := address.problem():
            tell(f"Cannot listen on {address}: {problem}. Choose another address with --bind, or stop who has it.")
            return 2
    open_collection(create=True)
    refuse_to_serve_damaged(DATA_FOLDER)
    keys.secret_key(DATA_FOLDER)
    with ServerWatch(tell=tell) as watch:
        return _serve(watch, app, pages, tell)


class ServerWatch(OrchestratorWatch):
    """Watches like everybody who waits for work, but its orchestrator is kept alive by supervisord."""

    supervisord: Process | None = None

    def keep_orchestrator(self) -> None:
        """Nothing: supervisord does."""

    def _own_pids(self) -> set[int]:
        return {self.supervisord.pid} if self.supervisord is not None and self.supervisord.pid else set()


def _serve(watch: ServerWatch, app: ListenAddress, pages: ListenAddress, tell: Tell) -> int:
    supervisord = watch.supervisord = start_supervisord(app, pages)
    try:
        if not _answers(supervisord, app):
            tell(f"The web server does not answer yet; see {DATA_FOLDER.logs / 'web.log'}.")
            watch.wait(lambda: supervisord.poll() is not None or listens(app))
        if supervisord.poll() is None:
            _tell_where(app, tell)
        watch.wait(lambda: supervisord.poll() is not None)
    except Interrupted as interrupted:
        return 128 + interrupted.signum
    finally:
        stop_supervisord(watch, supervisord)
    last = next(reversed(supervisord.stderr.strip().splitlines()), "")
    tell(f"supervisord has ended by itself (exit status {supervisord.exit_code}). {last}".rstrip())
    tell(f"`archivebox process show {supervisord.pk}` shows what it wrote.")
    return 1


def start_supervisord(app: ListenAddress, pages: ListenAddress) -> Process:
    """Start it as our child, on record before it can have an effect."""
    for earlier in Process.objects.here().running().of_type(Process.TypeChoices.SUPERVISORD):
        earlier.poll()  # one whose cli was killed: nobody wrote down its end
    conf = conf_text(app, pages, socket_path=str(DATA_FOLDER.supervisord_socket))
    atomic_write(DATA_FOLDER.supervisord_conf, conf, 0o600)
    module = "archivebox.workers.supervise.supervisord_main"
    words = (module, str(os.getpid()), "-c", str(DATA_FOLDER.supervisord_conf))
    return Process.of_ours(Process.TypeChoices.SUPERVISORD, *words).launch(background=True)


def stop_supervisord(watch: ServerWatch, supervisord: Process) -> None:
    """Let it end its programs in order; end what is left of them, also when it was killed itself."""
    supervisord.record_patience = RECORD_TIME
    if supervisord.poll() is None:
        supervisord.kill(signal.SIGTERM, timeout=0)
        if not watch.ends_within(supervisord, ORDERLY):
            supervisord.kill_tree()
    _wind_down_orphans(supervisord)
    supervisord.terminate()
    supervisord.store_logs()


def _wind_down_orphans(supervisord: Process) -> None:
    """Its programs, which come to us, or where nobody is a subreaper to pid 1, end before their trees do.

    A worker that is told together with its hooks takes their ends for failures of theirs.
    """
    below = Q(parent=supervisord) | Q(parent__parent=supervisord, process_type=Process.TypeChoices.WORKER)
    left = processes.orphans()
    with suppress(*OF_DATABASE):  # it is away: nobody can tell of others
        on_record = (program.identity for program in Process.objects.here().running().filter(below))
        left |= {identity for identity in on_record if identity is not None and identity.is_alive()}
    for identity in left:
        identity.signal(signal.SIGTERM)
    deadline = time.monotonic() + WIND_DOWN
    for identity in left:
        with suppress(TimeoutError):
            processes.wait_until_gone(identity, max(0.0, deadline - time.monotonic()))


def _tell_where(app: ListenAddress, tell: Tell) -> None:
    typed = early_settings(DATA_FOLDER).get_text("BASE_URL")
    tell(f"ArchiveBox is at {typed} (for its proxy: {app.url})" if typed else f"ArchiveBox is at {app.url}")
    _tell_how_to_log_in(typed or app.url, tell)


def _tell_how_to_log_in(base_url: str, tell: Tell) -> None:
    """To a collection that nobody can log in to yet."""
    try:
        if somebody_can_log_in():
            return
        if name := admin_with_password(early_settings(DATA_FOLDER)):
            tell(f"Log in as {name}, with ADMIN_PASSWORD.")
        else:
            token = make_login_token(admin_to_log_in().pk)
            tell(f"Log in as administrator, once, within an hour: {login_address(base_url, token)}")
    except (DatabaseError, OSError) as error:  # what passes by itself ends no server
        if not (sentence := transient_problem(error)):
            raise
        tell(f"{sentence} `archivebox manage login_link` makes a link to log in then.")


def _answers(supervisord: Process, app: ListenAddress) -> bool:
    """Whether somebody listens on ``app`` within :data:`UP` seconds; nothing tells us of that, so we try."""
    end = time.monotonic() + UP
    while time.monotonic() < end and supervisord.poll() is None:
        if listens(app):
            return True
        time.sleep(0.1)
    return False
