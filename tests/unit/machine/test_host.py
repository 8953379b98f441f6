from __future__ import annotations

import os

import pytest
from django.db import connection

from archivebox.hooks import base_layers, resolve_settings
from archivebox.machine.host import NetworkInterface, forget_current_machine
from archivebox.machine.models import Machine
from archivebox.storage.layout import DataFolder

pytestmark = pytest.mark.usefixtures("collection")


def test_current_is_made_once_and_found_again() -> None:
    first = Machine.current()
    assert Machine.current() is first
    forget_current_machine()
    assert Machine.current().pk == first.pk
    assert Machine.objects.count() == 1
    assert first.cpu_count == os.cpu_count()
    assert first.memory_bytes > 10**8
    assert str(first) == first.hostname


def test_facts_that_changed_are_brought_up_to_date() -> None:
    Machine.objects.filter(pk=Machine.current().pk).update(hostname="before", config={"A": "1"})
    forget_current_machine()
    machine = Machine.current()
    assert machine.hostname != "before"
    assert Machine.objects.get().hostname == machine.hostname
    assert Machine.objects.get().config == {"A": "1"}


def test_the_id_is_kept_where_it_belongs(collection: DataFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    key = Machine.current().pk
    if connection.vendor == "sqlite":
        assert collection.machine_id.read_text().strip() == str(key)
    else:
        assert not collection.machine_id.exists()  # a fleet shares the database, not the machine
    monkeypatch.setenv("MACHINE_ID", "01900000-0000-7000-8000-000000000000")
    forget_current_machine()
    assert str(Machine.current().pk) == "01900000-0000-7000-8000-000000000000"


def test_settings_of_the_machine_are_merged() -> None:
    Machine.current()
    Machine.objects.update(config={"TIMEOUT": "20", "OTHER": "x"})  # by another process; our cached row is older
    machine = Machine.from_jsonl({"config": {"TIMEOUT": 30}})
    assert machine.config == {"TIMEOUT": 30, "OTHER": "x"}
    assert Machine.objects.get().config == {"TIMEOUT": 30, "OTHER": "x"}
    assert resolve_settings(base_layers()).get_number("TIMEOUT") == 30
    assert Machine.from_jsonl({"config": "nonsense"}).config == {"TIMEOUT": 30, "OTHER": "x"}
    assert Machine.from_jsonl({}).pk == machine.pk


def test_interfaces() -> None:
    interface = NetworkInterface.objects.create(machine=Machine.current(), iface="eth0", ip_local="10.0.0.1")
    assert str(interface) == "eth0 10.0.0.1"
