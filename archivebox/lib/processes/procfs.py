"""The only reader of Linux's ``/proc`` (proc(5)); lean, because every started hook passes through here."""

# ruff: noqa: PTH115, PTH116, PTH123, PTH208
# A Path costs more than the system call it stands for, and 1,200 starts a second go through here.

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from ipaddress import IPv4Address, IPv6Address, ip_address

from archivebox.lib.processes.process_info import ProcessInfo

_READ = os.O_RDONLY | os.O_CLOEXEC
_PF_EXITING = 4
"""Flag of a thread that is shut down (linux/sched.h), in field 9 of proc_pid_stat(5)."""


def _read(path: str, *, one_piece: bool = False) -> bytes | None:
    """The whole file, or None when the process is gone (ENOENT, ESRCH) or not ours to read (EACCES).

    Only an empty read is the end: of a long list the kernel gives whole entries, a page (4 KB) at most at a time.
    ``one_piece``: it is known to be short, one read gives all of it.
    """
    try:
        fd = os.open(path, _READ)
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None
    try:
        data = os.read(fd, 65536)
        while data and not one_piece and (more := os.read(fd, 65536)):
            data += more
    except (ProcessLookupError, PermissionError):
        return None
    finally:
        os.close(fd)
    return data


@cache
def boot_id() -> str:
    """Random name of this boot of the machine."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()


@cache
def pid_namespace() -> int:
    """Inode of the pid namespace: two containers on one host share the boot id and reuse low pids."""
    return os.stat("/proc/self/ns/pid").st_ino


def inspect(pid: int) -> ProcessInfo | None:
    """What ``pid`` is now; None: there is no such process.

    A process whose first thread has ended while others run shows state Z too, but has more than one thread.
    """
    data = _read(f"/proc/{pid}/stat", one_piece=True)
    if not data:
        return None
    fields = data[data.rfind(b")") + 2 :].split(b" ", 20)
    gone = fields[0] in {b"Z", b"X"} and int(fields[17]) <= 1
    return ProcessInfo(int(fields[19]), int(fields[1]), int(fields[3]), gone)


def is_exiting(pid: int) -> bool:
    """Whether the kernel ends it, or has ended it: nothing of it runs any more, and it has no environment to read.

    Each of its threads is looked at: the first may have ended while others run.
    """
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except (FileNotFoundError, ProcessLookupError):
        return True
    stats = [_read(f"/proc/{pid}/task/{thread}/stat", one_piece=True) for thread in threads]
    return all(int(data[data.rfind(b")") + 2 :].split(b" ", 7)[6]) & _PF_EXITING for data in stats if data)


def running_for(start_ticks: int) -> float:
    """Seconds since that moment, which is counted in clock ticks since the boot."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) - start_ticks / os.sysconf("SC_CLK_TCK")


def children_of(pid: int) -> list[int]:
    """Pids of the direct children, zombies included, of all threads of ``pid``."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except (FileNotFoundError, ProcessLookupError):
        return []
    found: list[int] = []
    for thread in threads:
        data = _read(f"/proc/{pid}/task/{thread}/children")
        if data:
            found.extend(map(int, data.split()))
    return found


def child_lookup() -> Callable[[int], list[int]]:
    """What answers who is whose child, for one walk; here by asking the kernel for each."""
    return children_of


def environment_of(pid: int) -> bytes | None:
    """Environment block at the process's exec, entries ended by NUL; None: gone, a zombie, or not ours to read."""
    return _read(f"/proc/{pid}/environ") or None


def all_pids() -> list[int]:
    """Every pid of this pid namespace."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def listening_sockets(address: IPv4Address | IPv6Address, port: int) -> set[str]:
    """Every TCP socket that may take a connection to this address.

    One that listens at all addresses may, where no other listens at this one: whose it is counts, too.
    """
    return {inode for where, inode in _listeners(port) if where in (address, ANY_4, ANY_6)}


def holders_of(sockets: set[str], pids: Sequence[int]) -> dict[str, list[int]]:
    """Those of ``pids`` that hold each socket."""
    holders: dict[str, list[int]] = {inode: [] for inode in sockets}
    for pid in pids:
        for inode in sockets & _socket_inodes(pid):
            holders[inode].append(pid)
    return holders


ANY_4, ANY_6 = IPv4Address(0), IPv6Address(0)
_LISTEN = b"0A"
"""State of a socket that waits for connections (tcp_states.h)."""


def _listeners(port: int) -> Iterator[tuple[IPv4Address | IPv6Address, str]]:
    """Address and inode of each TCP socket of this machine that listens on a port (proc_net_tcp.rst)."""
    wanted = b":%04X" % port
    for table in ("tcp", "tcp6"):
        for line in (_read(f"/proc/self/net/{table}") or b"").splitlines()[1:]:
            fields = line.split()
            if fields[3] == _LISTEN and fields[1].endswith(wanted):
                yield _address_in(fields[1].partition(b":")[0].decode()), fields[9].decode()


def _address_in(text: str) -> IPv4Address | IPv6Address:
    """Of words of 32 bits, each in the byte order of this machine; one of IPv4 that is written as IPv6 as itself."""
    words = (int(text[at : at + 8], 16).to_bytes(4, sys.byteorder) for at in range(0, len(text), 8))
    found = ip_address(b"".join(words))
    return getattr(found, "ipv4_mapped", None) or found


def _socket_inodes(pid: int) -> set[str]:
    """Inodes of the sockets that a process holds; none if it is gone, or not ours to look into."""
    found: set[str] = set()
    try:
        descriptors = os.listdir(f"/proc/{pid}/fd")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return found
    for descriptor in descriptors:
        with suppress(FileNotFoundError, ProcessLookupError, PermissionError):
            target = os.readlink(f"/proc/{pid}/fd/{descriptor}")
            if target.startswith("socket:["):
                found.add(target[8:-1])
    return found
