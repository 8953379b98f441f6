import os
from contextlib import suppress
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.utils import timezone

from archivebox.config.conffile import write_conf
from archivebox.config.settings import DATA_FOLDER
from archivebox.contract.records import RefusedRecordError
from archivebox.hooks import base_layers, resolve_settings
from archivebox.lib.jsonl import JSON
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


def test_a_drained_machine_is_draining_until_it_resumes() -> None:
    here = Machine.current()
    assert here.state == "working"
    Machine.objects.get().drain(timedelta(minutes=1))
    Machine.refresh_settings()
    assert here.state == "draining"
    assert here.drain_by is not None
    Machine.objects.get().resume()
    Machine.refresh_settings()
    assert Machine.current().state == "working"
    assert Machine.current().drain_by is None


def test_a_machine_that_is_not_heard_of_is_offline() -> None:
    lost = Machine.objects.create(hostname="attic", seen_at=timezone.now() - timedelta(days=1))
    assert lost.state == "offline"
    lost.drain(timedelta())
    assert lost.state == "offline"


def test_facts_that_changed_are_brought_up_to_date() -> None:
    Machine.objects.filter(pk=Machine.current().pk).update(hostname="before", config={"A": "1"})
    forget_current_machine()
    machine = Machine.current()
    assert machine.hostname != "before"
    assert Machine.objects.get().hostname == machine.hostname
    assert Machine.objects.get().config == {"A": "1"}


def test_the_id_is_kept_where_it_belongs(collection: DataFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    key = Machine.current().pk
    monkeypatch.setenv("MACHINE_ID", "01900000-0000-7000-8000-000000000000")
    forget_current_machine()
    if connection.vendor == "sqlite":
        assert collection.machine_id.read_text().split()[0] == str(key) == str(Machine.current().pk)
    else:
        assert not collection.machine_id.exists()  # a fleet shares the database, not the machine
        assert str(Machine.current().pk) == "01900000-0000-7000-8000-000000000000"


@pytest.mark.skipif(connection.vendor == "sqlite", reason="a folder is one machine")
def test_a_machine_may_have_any_name_from_the_environment_or_the_file(
    collection: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MACHINE_ID", "machine-a")
    forget_current_machine()
    first = Machine.current().pk
    monkeypatch.delenv("MACHINE_ID")
    write_conf(collection.conf, {"MACHINE_ID": "machine-a"})
    forget_current_machine()
    assert Machine.current().pk == first
    write_conf(collection.conf, {"MACHINE_ID": "machine-b"})
    forget_current_machine()
    assert Machine.current().pk != first


def known_as(folder: DataFolder) -> str:
    """The id that a command would find there."""
    forget_current_machine()
    assert folder == DATA_FOLDER
    return str(Machine.current().pk)


@pytest.mark.skipif(connection.vendor != "sqlite", reason="a fleet keeps the id with each machine")
class TestFolderAtAnotherPlace:
    def rewrite(self, folder: DataFolder, *, boot: str = "", place: str = "") -> str:
        Machine.current()
        key, old_boot, old_place = folder.machine_id.read_text().split()
        folder.machine_id.write_text(f"{key} {boot or old_boot} {place or old_place}\n")
        return key

    def test_a_copy_is_another_machine_with_the_same_settings(self, collection: DataFolder) -> None:
        Machine.objects.filter(pk=Machine.current().pk).update(config={"A": "1"})
        former = self.rewrite(collection, place="1:2")
        copied = known_as(collection)
        assert copied != former
        assert known_as(collection) == copied
        assert Machine.objects.get(pk=copied).config == {"A": "1"}

    def test_after_a_boot_it_is_the_same_wherever_its_disk_is(self, collection: DataFolder) -> None:
        former = self.rewrite(collection, boot="another", place="1:2")
        assert known_as(collection) == former
        self.rewrite(collection, place="1:2")
        assert known_as(collection) != former, "its place was brought up to date"


@pytest.mark.django_db(transaction=True)
def test_settings_of_the_machine_are_merged() -> None:
    Machine.current()
    Machine.objects.update(config={"TIMEOUT": "20", "USER_AGENT": "x"})  # by another process; our row is older
    machine = Machine.from_jsonl({"config": {"TIMEOUT": 30, "NO_SETTING_OF_OURS": 1}})
    assert machine.config == {"TIMEOUT": 30, "USER_AGENT": "x"}
    assert Machine.objects.get().config == {"TIMEOUT": 30, "USER_AGENT": "x"}
    assert resolve_settings(base_layers()).get_int("TIMEOUT") == 30
    assert Machine.from_jsonl({"config": {"TIMEOUT": None}}).config == {"USER_AGENT": "x"}
    assert Machine.from_jsonl({}).pk == machine.pk


@pytest.mark.parametrize("config", ["nonsense", {"TIMEOUT": "soon"}, {"USER_AGENT": "x", "TIMEOUT": 0}])
def test_settings_that_are_not_allowed_are_refused(config: JSON) -> None:
    with pytest.raises(RefusedRecordError):
        Machine.from_jsonl({"config": config})
    assert Machine.objects.get().config == {}


@pytest.mark.django_db(transaction=True)
def test_what_is_undone_is_not_remembered() -> None:
    Machine.current()
    with suppress(ZeroDivisionError), transaction.atomic():
        Machine.from_jsonl({"config": {"TIMEOUT": 30}})
        raise ZeroDivisionError
    assert resolve_settings(base_layers()).get_int("TIMEOUT") == 60


def test_what_others_set_since_is_read_on_request() -> None:
    Machine.current()
    Machine.objects.update(config={"TIMEOUT": 20})
    assert resolve_settings(base_layers()).get_int("TIMEOUT") == 60
    Machine.refresh_settings()
    assert resolve_settings(base_layers()).get_int("TIMEOUT") == 20


def test_each_address_of_a_machine_is_one_interface() -> None:
    for _ in range(2):
        for address in ("127.0.0.1", "192.0.2.1"):
            NetworkInterface.with_address(Machine.current().pk, address).save_if_new()
    rows = NetworkInterface.objects.order_by("ip_local")
    assert [str(row) for row in rows] == ["lo 127.0.0.1", "192.0.2.1"]  # nothing here has the other
    assert {row.machine for row in rows} == {Machine.current()}
