"""What workers remember of the addresses that connections left from."""

from archivebox.lib.egress import Endpoint
from archivebox.workers.egress.local_addresses import REMEMBERED_MAX, LocalAddresses, key_of, line_of, place_key

PROCESS = "0199d2c1-7c3e-7d0a-9c1e-2f6a5b4c3d2e"
PLACE = Endpoint("example.org", 443)


def test_a_connection_is_known_by_its_process_or_by_its_place() -> None:
    assert key_of(PROCESS.upper(), PLACE) == PROCESS
    assert key_of("", PLACE) == key_of("hook", PLACE) == place_key("https://EXAMPLE.org/a") == "example.org:443"
    assert place_key("http://[::1]/") == key_of("", Endpoint("::1", 80)) == "[::1]:80"


def test_only_what_changes_is_news() -> None:
    known = LocalAddresses()
    assert [known.add("a", address) for address in ("10.0.0.1", "10.0.0.1", "10.0.0.2", "")] == [
        True, False, True, False,
    ]  # fmt: skip
    assert (known.find("a"), known.find("b")) == ("10.0.0.2", "")


def test_torn_lines_are_put_together_unless_their_proxy_has_died() -> None:
    proxy, worker = LocalAddresses(), LocalAddresses()
    proxy.add(PROCESS, "10.0.0.1")
    proxy.add("[::1]:80", "::1")
    said = b"".join(proxy.lines())
    for at in range(len(said)):
        worker.feed(said[at : at + 1])
    assert list(worker.lines()) == list(proxy.lines())
    worker.feed(b"example.o")
    worker.drop_torn_line()
    worker.feed(line_of("example.net:80", "10.0.0.1"))
    assert worker.find("example.net:80") == "10.0.0.1"


def test_the_oldest_are_forgotten() -> None:
    known = LocalAddresses()
    for number in range(REMEMBERED_MAX + 2):
        known.add(str(number), "10.0.0.1")
        known.add("0", f"10.0.0.{number % 2}")  # the latest news stay
    assert (len(list(known.lines())), known.find("1"), known.find("3")) == (REMEMBERED_MAX, "", "10.0.0.1")
    assert known.find("0")
