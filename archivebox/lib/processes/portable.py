"""Inspects processes through psutil, where there are no pidfds and no ``/proc``."""

import ctypes
import os
import sys
import time
from collections.abc import Callable, Sequence
from functools import cache
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

import psutil

from archivebox.lib.processes.process_info import ProcessInfo


@cache
def boot_id() -> str:
    """Name of this boot: the kernel's where it has one, else the time of the boot."""
    kernel = Path("/proc/sys/kernel/random/boot_id")
    if kernel.exists():
        return kernel.read_text(encoding="ascii").strip()
    if sys.platform == "darwin":
        size = ctypes.c_size_t(64)
        value = ctypes.create_string_buffer(64)
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.sysctlbyname(b"kern.bootsessionuuid", value, ctypes.byref(size), None, 0) == 0:
            return value.value.decode("ascii").lower()
    return f"boot-{int(psutil.boot_time())}"


def pid_namespace() -> int:
    """No pid namespaces on this path."""
    return 0


def inspect(pid: int) -> ProcessInfo | None:
    """What ``pid`` is now; None: there is no such process.

    Its start is the one that psutil tells processes apart by, as the kernel keeps it: ``create_time()`` follows the
    wall clock, and one step of that made strangers of all our processes.
    """
    try:
        process = psutil.Process(pid)
        _, start = vars(process)["_ident"]  # which has no public name
        zombie = process.status() in {psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD}
        return ProcessInfo(round(start * 1e6), process.ppid(), _session(pid), zombie)
    except (psutil.NoSuchProcess, psutil.AccessDenied, ValueError):
        return None


def is_exiting(pid: int) -> bool:
    """Whether it has ended; of one that is ended right now nothing tells so here."""
    seen = inspect(pid)
    return seen is None or seen.zombie


def running_for(start_ticks: int) -> float:
    """Seconds since that moment, in microseconds as `inspect` has it; on Linux since the boot, else by the clock."""
    now = time.clock_gettime(time.CLOCK_BOOTTIME) if sys.platform == "linux" else time.time()
    return now - start_ticks / 1e6


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except (ProcessLookupError, PermissionError):
        return 0


def children_of(pid: int) -> list[int]:
    try:
        return [child.pid for child in psutil.Process(pid).children()]
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return []


def child_lookup() -> Callable[[int], list[int]]:
    """Who is whose child, from one reading of all processes: psutil reads all of them for each question."""
    families: dict[int, list[int]] = {}
    for process in psutil.process_iter(["ppid"]):
        families.setdefault(process.info["ppid"], []).append(process.pid)
    return lambda pid: families.get(pid, [])


def environment_of(pid: int) -> bytes | None:
    """Environment block as Linux would show it; None: gone, a zombie, or not ours to read."""
    try:
        values = psutil.Process(pid).environ()
    except (psutil.NoSuchProcess, psutil.AccessDenied, OSError):
        return None
    return b"".join(os.fsencode(f"{name}={value}") + b"\0" for name, value in values.items()) or None


def all_pids() -> list[int]:
    return psutil.pids()


def listening_sockets(address: IPv4Address | IPv6Address, port: int) -> set[str]:
    """Every TCP socket of this user's that listens at exactly this address; its name says who holds it, and since when.

    Sockets of other users are not to be seen here, and one of theirs at this very address would take precedence over
    one that listens at all addresses: so that one counts for none.
    """
    found = set()
    for process in psutil.process_iter():
        try:
            connections = process.net_connections("tcp")
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
        if any(one.status == psutil.CONN_LISTEN and one.laddr == (str(address), port) for one in connections):
            found.add(f"{process.pid} {vars(process)['_ident'][1]} {port}")
    return found


def holders_of(sockets: set[str], pids: Sequence[int]) -> dict[str, list[int]]:
    """Those of ``pids`` that hold each socket."""
    holders = {socket: int(socket.partition(" ")[0]) for socket in sockets}
    return {socket: [pid] if pid in pids else [] for socket, pid in holders.items()}
