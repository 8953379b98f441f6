"""The log of a crawl's connections: a line that a full disk has torn costs no other."""

import os
import shutil
from pathlib import Path

import pytest

from archivebox.lib import jsonl
from archivebox.lib.egress.connection_log import CONNECTIONS, ConnectionLog, Totals, sum_totals
from archivebox.lib.egress.proxy_requests import Endpoint, NotConnected, NotConnectedReason
from archivebox.storage.layout import MACHINES, egress_dir, egress_dirs
from tests.integration.engine.disks import small_disk

PLACE = Endpoint("example.org", 80)


def test_after_a_torn_line_the_next_one_begins_on_its_own(tmp_path: Path) -> None:
    (tmp_path / CONNECTIONS).write_text('{"event": "connected", "hos')
    record = ConnectionLog(tmp_path)
    assert [record.connected(PLACE, "192.0.2.1") for _ in range(2)] == [1, 2]
    record.close()
    assert [line["connection"] for line in jsonl.read(tmp_path / CONNECTIONS)] == [1, 2]


def connect_often(record: ConnectionLog) -> None:
    for _ in range(100):
        record.connected(PLACE, "192.0.2.1")


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("mount"), reason="needs root and mount(8)")
def test_what_a_full_disk_tears_costs_no_line_that_comes_after_it(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 1) as disk:
        record = ConnectionLog(disk.path / "egress")
        record.connected(PLACE, "192.0.2.1")
        disk.fill()
        with pytest.raises(OSError, match="No space left"):
            connect_often(record)
        record.closed(1, PLACE, 10, 20)  # what has been is not broken off for want of its last line
        record.not_connected(PLACE, NotConnected(NotConnectedReason.UNREACHABLE, "nobody is there"))
        assert record.totals.failed == 1
        record.save()  # nor is whoever sweeps ended by it
        disk.free()
        last = record.connected(PLACE, "192.0.2.1")
        assert [line["connection"] for line in jsonl.read(disk.path / "egress" / CONNECTIONS)][-1] == last
        record.close()


def test_the_totals_of_a_crawl_are_those_of_all_its_machines(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / MACHINES / "attic"):
        record = ConnectionLog(egress_dir(folder))
        record.connected(PLACE, "192.0.2.1")
        record.totals.received += 20
        record.close()
    assert sum_totals(egress_dirs(tmp_path)) == Totals(connections=2, received=40)
    assert sum_totals(egress_dirs(tmp_path / "of none")) == Totals()
