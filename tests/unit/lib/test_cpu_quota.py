"""The quota of processor time that control groups set, and that deadlines take it into account."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from archivebox.lib import machine_load
from archivebox.lib.machine_load import extended, is_busy, slowdown

Groups = Callable[..., None]


@pytest.fixture
def groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Groups]:
    """Files of control groups: ``groups(membership, {name: text})``; the machine has eight processors and load 4."""

    def write(membership: str, files: dict[str, str]) -> None:
        (tmp_path / "membership").write_text(membership)
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        machine_load.limiting_group.cache_clear()

    monkeypatch.setattr(machine_load, "CGROUPS", str(tmp_path))
    monkeypatch.setattr(machine_load, "MEMBERSHIP", str(tmp_path / "membership"))
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.setattr(os, "getloadavg", lambda: (4.0, 0.0, 0.0))
    yield write
    machine_load.limiting_group.cache_clear()


HELD_BACK = "nr_periods 90\nnr_throttled 40\nthrottled_usec 1000\n"


@pytest.mark.parametrize(
    ("membership", "folder", "limits"),
    [
        ("0::/\n", "", {"cpu.max": "200000 100000\n"}),
        ("0::/system.slice/a.service\n", "system.slice", {"cpu.max": "200000 100000\n"}),
        ("0::/kubepods/of-the-host\n", "", {"cpu.max": "200000 100000\n"}),
        ("4:memory:/x\n2:cpu,cpuacct:/docker/a\n", "cpu,cpuacct/docker/a",
         {"cpu.cfs_quota_us": "200000\n", "cpu.cfs_period_us": "100000\n"}),
        ("2:cpu,cpuacct:/docker/a\n", "cpu", {"cpu.cfs_quota_us": "200000\n", "cpu.cfs_period_us": "100000\n"}),
    ],
)  # fmt: skip
def test_deadlines_grow_in_a_container_that_used_up_its_quota(
    groups: Groups, membership: str, folder: str, limits: dict[str, str]
) -> None:
    groups(
        membership, {f"{folder}/{name}".strip("/"): text for name, text in (limits | {"cpu.stat": HELD_BACK}).items()}
    )
    assert machine_load.reached_quota() == 2.0
    assert slowdown() == 2.0
    assert extended(60.0) == 120.0
    assert is_busy()


def test_the_smallest_quota_counts(groups: Groups) -> None:
    groups("0::/a/b\n", {"a/b/cpu.max": "400000 100000", "a/cpu.max": "150000 100000", "a/cpu.stat": HELD_BACK})
    assert machine_load.reached_quota() == 1.5


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"cpu.max": "max 100000\n", "cpu.stat": HELD_BACK},
        {"cpu.max": "200000 100000\n", "cpu.stat": "nr_periods 90\nnr_throttled 0\n"},
        {"cpu.max": "nonsense\n", "cpu.stat": HELD_BACK},
        {"cpu.max": "200000 100000\n"},
    ],
)
def test_without_a_quota_that_was_reached_the_machine_alone_counts(groups: Groups, files: dict[str, str]) -> None:
    groups("0::/\n", files)
    assert machine_load.reached_quota() is None
    assert slowdown() == 1.0
    assert not is_busy()
