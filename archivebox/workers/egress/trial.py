"""Owns the proxy of a trial run: in this process, for hooks that run outside of any crawl."""

import asyncio
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from archivebox.config.resolve import Resolved
from archivebox.config.settings import DATA_FOLDER
from archivebox.hooks import Proxy
from archivebox.lib.egress import ConnectionPolicy, Endpoint, ProxyListener
from archivebox.lib.networks import IPAddress
from archivebox.lib.processes import marks_of_listeners
from archivebox.lib.urls import parse_url
from archivebox.workers.egress.crawl_proxies import LOOPBACK, listen
from archivebox.workers.egress.policies import Hooks, facts_of

PATIENCE = 5.0
"""Seconds in which the proxy is up, and gone again."""


@contextmanager
def temporary_proxy(url: str, folder: Path, settings: Resolved, is_hook: Callable[[str], bool]) -> Iterator[Proxy]:
    """A proxy that stands meanwhile, by the rules of a crawl of ``url`` whose folder this is.

    ``is_hook``: whether this is the process id of one of its hooks.
    """
    facts = facts_of(folder, settings)
    given = parse_url(url)
    password = secrets.token_hex(16)

    async def is_named(place: Endpoint) -> bool:
        return place == Endpoint(given.host.strip("[]"), given.effective_port or 0)

    async def listen_alone(address: IPAddress, port: int) -> bool:
        sockets = await asyncio.to_thread(marks_of_listeners, address, port, DATA_FOLDER.root)
        return bool(sockets) and all(any(map(is_hook, marks)) for marks in sockets)

    async def learn() -> ConnectionPolicy:
        return facts.policy(is_named, frozenset({port}), Hooks(password, listen_alone))

    listener = listen(0)
    port = listener.getsockname()[1]
    loop, proxy_listener = asyncio.new_event_loop(), ProxyListener(learn)
    thread = threading.Thread(target=loop.run_forever, name="proxy", daemon=True)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(proxy_listener.listen(listener), loop).result(PATIENCE)
        yield Proxy(f"{LOOPBACK}:{port}", password)
    finally:
        asyncio.run_coroutine_threadsafe(_end(proxy_listener), loop).result(PATIENCE)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(PATIENCE)


async def _end(proxy_listener: ProxyListener) -> None:
    proxy_listener.close()
