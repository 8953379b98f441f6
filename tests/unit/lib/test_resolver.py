"""Names are looked up by the system's own means."""

from archivebox.lib.addresses import resolve


def test_a_name_has_its_addresses_and_an_unknown_one_none() -> None:
    found = resolve(["localhost", "no-such-name.invalid", "a" * 80 + ".example"], 20)
    assert set(found) == {"localhost"}
    assert all(address.is_loopback for address in found["localhost"])


def test_what_does_not_come_in_time_is_left_out() -> None:
    assert resolve(["no-such-name.invalid"], 0) == {}
    assert resolve([], 1) == {}
