"""Owns asking the system which addresses names have, for many at once and within a time."""

import socket
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from ipaddress import ip_address

from archivebox.lib.networks import IPAddress

MAX_THREADS = 32


def resolve(names: Iterable[str], seconds: float) -> dict[str, tuple[IPAddress, ...]]:
    """The addresses of those names that have any and whose answer comes within ``seconds``.

    getaddrinfo(3) cannot be interrupted: what is late goes on in its thread and is forgotten.
    """
    pool = ThreadPoolExecutor(MAX_THREADS, "resolver")
    asked = {name: pool.submit(_addresses, name) for name in set(names)}
    wait(asked.values(), seconds)
    pool.shutdown(wait=False, cancel_futures=True)
    done = {name: future.result() for name, future in asked.items() if future.done() and not future.cancelled()}
    return {name: addresses for name, addresses in done.items() if addresses}


def _addresses(name: str) -> tuple[IPAddress, ...]:
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):  # no such name, no network, a label that is too long
        return ()
    return tuple({ip_address(str(sockaddr[0]).partition("%")[0]) for *_, sockaddr in found})
