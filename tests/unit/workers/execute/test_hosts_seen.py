"""Which hosts a worker takes for slow, and for how long."""

from types import SimpleNamespace
from typing import cast

from archivebox.contract.ordering import OUTPUT_STEP
from archivebox.workers.execute.hosts_seen import MOST, SLOW_FOR, HostsSeen
from archivebox.workers.execute.page.executor import SnapshotExecutor


def page(host: str, *, waits: bool = False, has_waited: bool = False, is_loaded: bool = False) -> SnapshotExecutor:
    snapshot = SimpleNamespace(domain=host)
    live = SimpleNamespace(waits_for_server=waits, has_waited=waits or has_waited)
    schedule = SimpleNamespace(step=OUTPUT_STEP if is_loaded else OUTPUT_STEP - 1)
    return cast("SnapshotExecutor", SimpleNamespace(snapshot=snapshot, page=live, schedule=schedule))


def test_a_host_that_is_waited_for_counts_as_slow_for_a_while() -> None:
    hosts = HostsSeen()
    hosts.look_at([page("slow", waits=True), page("new")], 0.0)
    assert set(hosts.slow) == {"slow"}
    hosts.look_at([], SLOW_FOR)
    assert set(hosts.slow) == {"slow"}
    hosts.look_at([], SLOW_FOR + 1)
    assert hosts.slow == frozenset()


def test_a_host_that_answers_at_once_is_slow_no_more() -> None:
    hosts = HostsSeen()
    hosts.look_at([page("host", waits=True)], 0.0)
    hosts.look_at([page("host", has_waited=True, is_loaded=True)], 1.0)
    assert (set(hosts.slow), hosts.answered) == ({"host"}, ())
    hosts.look_at([page("host", is_loaded=True)], 2.0)
    assert (hosts.slow, hosts.answered) == (frozenset(), ("host",))


def test_hosts_that_answered_are_named_the_latest_first_and_not_without_end() -> None:
    hosts = HostsSeen()
    for number in range(MOST + 1):
        hosts.look_at([page(f"h{number}", is_loaded=True)], float(number))
    assert len(hosts.answered) == MOST
    assert hosts.answered[:2] == (f"h{MOST}", f"h{MOST - 1}")
    hosts.look_at([page("h5", waits=True)], 0.0)
    assert "h5" not in hosts.answered
