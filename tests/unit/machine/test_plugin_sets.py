"""Where the plugins of machines that share a database differ, each says so."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from archivebox.base_models.rows import new_id
from archivebox.hooks import forget_plugins
from archivebox.machine.models import Machine
from archivebox.machine.plugin_sets import plugin_differences, plugin_digests, report_plugins
from archivebox.storage.layout import DataFolder

pytestmark = [pytest.mark.usefixtures("collection"), pytest.mark.database]
shared = pytest.mark.skipif(connection.vendor != "postgresql", reason="machines share no file")


def machine(hostname: str, *names: str, digest: str = "1", **columns: Any) -> Machine:
    facts = {"hostname": hostname, "version": Machine.current().version, "plugins": dict.fromkeys(names, digest)}
    return Machine.objects.create(pk=new_id(), **{**facts, **columns})


def differences() -> list[str]:
    found = plugin_differences(list(Machine.objects.order_by("hostname")))
    return [found[one.pk] for one in Machine.objects.order_by("hostname") if one.pk in found]


def plugin(folder: DataFolder, name: str, text: str = "exit 0\n") -> None:
    (folder.plugins / name).mkdir(exist_ok=True)
    (folder.plugins / name / "on_Snapshot__10_note.sh").write_text(text)
    forget_plugins()


def test_a_digest_is_that_of_the_content_of_all_files(collection: DataFolder) -> None:
    plugin(collection, "mine")
    before = plugin_digests()
    assert {"base", "mine", "wget"} <= before.keys()
    (collection.plugins / "mine" / "__pycache__").mkdir()
    (collection.plugins / "mine" / "__pycache__" / "a.pyc").write_text("1")
    (collection.plugins / "letters").mkdir()
    (collection.plugins / "letters" / "ada.txt").write_text("no plugin")
    assert plugin_digests() == before
    (collection.plugins / "mine" / "parts").mkdir()
    (collection.plugins / "mine" / "parts" / "page.js").write_text("1")
    changed = plugin_digests()
    assert {name for name in changed if changed[name] != before[name]} == {"mine"}
    (collection.plugins / "mine" / "parts" / "page.js").unlink()
    assert plugin_digests() == before


def test_settings_laid_over_a_plugin_change_its_digest(collection: DataFolder) -> None:
    before = plugin_digests()
    (collection.plugins / "wget").mkdir()
    (collection.plugins / "wget" / "config.json").write_text('{"properties": {"WGET_TIMEOUT": {"default": 9}}}')
    forget_plugins()
    changed = plugin_digests()
    assert {name for name in changed if changed[name] != before[name]} == {"wget"}


@pytest.mark.skipif(connection.vendor == "postgresql", reason="machines may share a server")
def test_a_machine_alone_is_compared_with_none() -> None:
    machine("attic", "mine")
    machine("nas", "wget")
    assert differences() == []


@shared
def test_each_of_two_machines_names_what_is_on_one_alone_or_differs() -> None:
    machine("attic", "a", "b", "c", "d", "mine", "wget")
    machine("nas", "wget", digest="2")
    assert differences() == [
        "only on attic: a, b, c and 2 more; other files on attic than on nas: wget",
        "only on attic: a, b, c and 2 more; other files on nas than on attic: wget",
    ]


@shared
def test_the_odd_one_of_three_machines_is_named_by_all() -> None:
    for name in ("attic", "nas"):
        machine(name, "wget")
    machine("shed", "wget", "mine")
    assert differences() == ["only on shed: mine"] * 3


@shared
def test_of_machines_with_other_versions_the_versions_are_named() -> None:
    machine("attic", "wget", version="0.0.2")
    machine("nas", "wget", digest="0", version="0.0.1")
    assert differences()[0] == "attic has ArchiveBox 0.0.2, and nas has 0.0.1"


@shared
def test_machines_that_are_drained_or_offline_are_not_compared() -> None:
    machine("attic", "wget")
    machine("drained", "mine", drain_by=timezone.now())
    machine("offline", "mine", seen_at=timezone.now() - timedelta(hours=1))
    assert differences() == []


@shared
def test_a_difference_is_logged_once_and_gone_when_the_plugin_is_copied(
    collection: DataFolder, caplog: pytest.LogCaptureFixture
) -> None:
    report_plugins()
    Machine.objects.create(pk=new_id(), hostname="nas", version=Machine.current().version, plugins=plugin_digests())
    plugin(collection, "mine")
    report_plugins()
    report_plugins()
    assert caplog.text.count("action=plugins_differ") == 1
    assert len(differences()) == 2
    Machine.objects.update(plugins=plugin_digests())
    assert differences() == []
