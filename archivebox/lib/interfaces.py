"""Owns which network interface of this machine has an address: getifaddrs(3), which Python does not offer.

psutil does, and costs every process that imports it 15 ms.
"""

import ctypes
import socket
import sys
from collections.abc import Iterator
from ipaddress import ip_address
from typing import NamedTuple

_LIBC = ctypes.CDLL(None, use_errno=True)
_IS_BSD = sys.platform != "linux"
_LINK = 18 if _IS_BSD else 17
"""AF_LINK, AF_PACKET: the family whose address is that of the hardware."""


class Interface(NamedTuple):
    """A network interface: its name, and its hardware address (``""``: it has none)."""

    name: str = ""
    mac_address: str = ""


class _IfAddrs(ctypes.Structure):
    """``struct ifaddrs``, as far as the address."""


_IfAddrs._fields_ = [
    ("next", ctypes.POINTER(_IfAddrs)),
    ("name", ctypes.c_char_p),
    ("flags", ctypes.c_uint),
    ("address", ctypes.c_void_p),
]


def find_interface(address: str) -> Interface:
    """The interface that has an IP address; one without a name where none has it (any more)."""
    hardware: dict[str, str] = {}
    name = ""
    for each, family, value in _addresses():
        if family == _LINK:
            hardware[each] = value
        elif not name and value == str(ip_address(address)):
            name = each
    return Interface(name, hardware.get(name, ""))


def _addresses() -> Iterator[tuple[str, int, str]]:
    """Interface, family and address, of each address of the families that are known here."""
    first = ctypes.POINTER(_IfAddrs)()
    if _LIBC.getifaddrs(ctypes.byref(first)) != 0:
        return
    try:
        at = first
        while at:
            entry = at.contents
            if entry.address:
                family = _family(entry.address)
                if value := _written(family, entry.address):
                    yield entry.name.decode(errors="replace"), family, value
            at = entry.next
    finally:
        _LIBC.freeifaddrs(first)


def _family(at: int) -> int:
    """Of a ``struct sockaddr``, which has its length first on BSD."""
    return ctypes.c_ubyte.from_address(at + 1).value if _IS_BSD else ctypes.c_ushort.from_address(at).value


def _written(family: int, at: int) -> str:
    """An address of ``struct sockaddr``, as text; empty for families that are not known here."""
    if family == socket.AF_INET:
        return socket.inet_ntop(family, ctypes.string_at(at + 4, 4))
    if family == socket.AF_INET6:
        return socket.inet_ntop(family, ctypes.string_at(at + 8, 16))
    if family == _LINK:
        mac = _mac_of_bsd(at) if _IS_BSD else ctypes.string_at(at + 12, ctypes.string_at(at + 11, 1)[0])
        return mac.hex(":") if any(mac) else ""
    return ""


def _mac_of_bsd(at: int) -> bytes:
    """``struct sockaddr_dl``: the name comes before the address."""
    name_length, length = ctypes.string_at(at + 5, 2)
    return ctypes.string_at(at + 8 + name_length, length)
