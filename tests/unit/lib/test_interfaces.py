"""Which interface has an address: compared with what psutil says of this very machine."""

import socket

import psutil

from archivebox.lib.interfaces import Interface, find_interface


def test_each_address_of_this_machine_is_found_with_its_hardware_address() -> None:
    expected = {}
    for name, addresses in psutil.net_if_addrs().items():
        mac = next((one.address for one in addresses if one.family == psutil.AF_LINK), "")
        for one in addresses:
            if one.family in (socket.AF_INET, socket.AF_INET6):
                expected[one.address.partition("%")[0]] = Interface(name, mac if mac.strip("0:") else "")
    assert "127.0.0.1" in expected
    assert {address: find_interface(address) for address in expected} == expected


def test_an_address_that_nothing_here_has_is_found_nowhere() -> None:
    assert find_interface("192.0.2.1") == Interface()
