"""Who listens at an address of this machine: asked of the system, and known by the marks of our processes."""

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

from archivebox.lib.processes.marks import marked
from archivebox.lib.processes.platform import PORTABLE

if PORTABLE:
    from archivebox.lib.processes.portable import holders_of, listening_sockets
else:
    from archivebox.lib.processes.procfs import holders_of, listening_sockets

_KNOWN_MAX = 256
_known: dict[str, frozenset[str]] = {}
"""Marks by socket: its number is given to no second one (proc(5), ``socket:[inode]``), and a scan costs 10 ms."""


def marks_of_listeners(address: IPv4Address | IPv6Address, port: int, data_dir: Path) -> Sequence[frozenset[str]]:
    """For each socket that may take a connection to this address: the marks of those who hold it.

    A mark is the process id of a process of this data folder. An empty set: nobody of ours holds that socket.
    """
    sockets = listening_sockets(address, port)
    if sockets - _known.keys():
        _learn(sockets, data_dir)
    return [_known.get(socket, frozenset()) for socket in sockets]


def _learn(sockets: set[str], data_dir: Path) -> None:
    bearers = {identity.pid: process_id for identity, process_id in marked(data_dir).items()}
    if len(_known) > _KNOWN_MAX:
        _known.clear()
    for socket, pids in holders_of(sockets, list(bearers)).items():
        if pids:
            _known[socket] = frozenset(bearers[pid] for pid in pids)
