"""Owns the two listeners, the app's and the archived pages', in one process and on one event loop, and its row.

granian's embedded server needs no second process, and sleeps in the kernel when nobody asks.
"""

import asyncio
import logging
import resource
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.server.embed import Server

from archivebox.base_models.rows import new_id
from archivebox.config.collection import open_collection
from archivebox.lib import processes
from archivebox.lib.addresses import ListenAddress
from archivebox.lib.processes import ProcessIdentity
from archivebox.machine.process import Process
from archivebox.replay.listener import Listener
from archivebox.replay.models import memory_of_view
from archivebox.replay.scripts.listener import ViewListener
from archivebox.web import settings
from archivebox.web.asgi import application
from archivebox.web.auth.replay_access import add_view_violations, folder_opened_by, is_known_host, view_opened_by
from archivebox.web.server.connection_limit import ConnectionLimit, close_connections
from archivebox.web.server.trusted_proxies import TrustedProxies

log = logging.getLogger("archivebox.web")

CONNECTIONS = 1000
"""Open connections that each listener has at most: browsers keep theirs for the next request, and one costs a file
descriptor and no thread. How much is worked on at a time is limited behind them
(:mod:`archivebox.web.server.request_gate`)."""
ONE_OF = 4
"""One address has at most one of so many of them."""
LEAST = 12
"""But as many as two browsers use, where there are few."""
LAST_ANSWERS = 2.0
"""Seconds that answers which have begun have when the server ends; supervisord kills it after ten."""
_OWN_FILES = 200
"""File descriptors that are left for everything but connections."""


def _connections() -> int:
    """How many of :data:`CONNECTIONS` each of the two may have, after our limit of files was raised to what we need."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * CONNECTIONS + _OWN_FILES
    files = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if files > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
    return max(16, (files - _OWN_FILES) // 2)


def _server(target: Any, address: ListenAddress) -> Server:
    return Server(
        target,
        address=address.host,
        port=address.port,
        interface=Interfaces.ASGINL,
        http=HTTPModes.http1,
        http1_settings=HTTP1Settings(header_read_timeout=15_000),
        websockets=False,
        backlog=CONNECTIONS,
        backpressure=_connections(),
        runtime_blocking_threads=1,
        log_enabled=False,
    )


async def listen(bind: ListenAddress, replay: ListenAddress, starters: Sequence[ProcessIdentity]) -> None:
    """Answer on both until SIGTERM or SIGINT comes, or one of ``starters`` (supervisord first, the cli) is gone."""
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for signum in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(signum, stop.set)
    for starter in starters:
        threading.Thread(target=_follow, args=(starter, starters, loop, stop), daemon=True).start()
    views = ViewListener(view_opened_by, add_view_violations, memory_of_view)
    servers = [
        _server(application, bind),
        _server(Listener(folder_opened_by, is_known_host, views, settings.ORIGIN), replay),
    ]
    most = max(LEAST, _connections() // ONE_OF)
    ConnectionLimit([bind.port, replay.port], most, TrustedProxies(settings.TRUSTED_PROXIES).has).start()
    serving = [asyncio.create_task(server.serve()) for server in servers]
    stopped = asyncio.create_task(stop.wait())
    await asyncio.wait([*serving, stopped], return_when=asyncio.FIRST_COMPLETED)
    for server in servers:
        server.stop()  # type: ignore[no-untyped-call]
    stopped.cancel()
    await asyncio.wait(serving, timeout=LAST_ANSWERS)
    close_connections([bind.port, replay.port])  # a page that is open has a stream of events that does not end
    await asyncio.gather(*serving)


def _follow(
    starter: ProcessIdentity, starters: Sequence[ProcessIdentity], loop: asyncio.AbstractEventLoop, stop: asyncio.Event
) -> None:
    """Sleep until ``starter`` is gone; then end, and end those between it and us, supervisord, which would restart us.

    A pidfd costs nothing while it waits. Linux tells supervisord of the cli's death by itself (PR_SET_PDEATHSIG);
    this way works elsewhere too.
    """
    processes.wait_until_gone(starter, None)
    log.info("Who started us is gone.", extra={"action": "web_starter_gone", "pid": starter.pid})
    for between in starters[: starters.index(starter)]:
        between.signal(signal.SIGTERM)
    loop.call_soon_threadsafe(stop.set)


@contextmanager
def recorded() -> Iterator[list[ProcessIdentity]]:
    """Begin our row, and end it on every way out that lets us; yields supervisord's and the cli's identity.

    An earlier web server that was killed could not write down its own end: that is done here.
    """
    open_collection(create=False)
    for earlier in Process.objects.here().running().filter(worker_type="web"):
        earlier.poll()
    row = Process.begin(new_id(), process_type=Process.TypeChoices.WORKER, worker_type="web")
    try:
        yield [parent.identity for parent in row.ancestors if parent.identity is not None]
    except BaseException as error:
        row.finish(1, f"{type(error).__name__}: {error}")
        raise
    row.finish(0)
