"""Machines that share a database have the same plugins; the one that differs begins nothing, and says what differs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from archivebox.base_models.rows import new_id
from archivebox.hooks import forget_plugins
from archivebox.hooks.plugin_digests import plugin_digests
from archivebox.machine.models import Machine
from archivebox.machine.plugin_sets import (
    PluginSet,
    digest_that_counts,
    plugin_problems,
    plugins_problem,
    report_plugins,
)
from archivebox.storage.layout import DataFolder
from archivebox.workers.queue.readiness_check import ReadinessCheck
from archivebox.workers.readiness import problems

pytestmark = [pytest.mark.usefixtures("collection"), pytest.mark.database]
shared = pytest.mark.skipif(connection.vendor != "postgresql", reason="machines share no file")
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
OURS = {"wget": "1", "pdf": "1"}


def elsewhere(digests: Mapping[str, str], **columns: Any) -> Machine:
    """Another machine, which reported its plugins an hour ago."""
    facts: dict[str, Any] = {"hostname": "nas", "version": Machine.current().version, "plugins": dict(digests)}
    facts |= {"plugins_digest": str(sorted(digests.items()))}
    facts |= {"plugins_changed_at": timezone.now() - timedelta(hours=1)}
    return Machine.objects.create(pk=new_id(), **{**facts, **columns})


def report(digests: Mapping[str, str]) -> None:
    report_plugins(digests)
    Machine.objects.filter(pk=Machine.current().pk).update(plugins_digest=str(sorted(digests.items())))
    Machine.objects.filter(pk=Machine.current().pk).update(hostname="attic")


def plugin(folder: DataFolder, name: str, text: str = "exit 0\n") -> None:
    (folder.plugins / name).mkdir(exist_ok=True)
    (folder.plugins / name / "on_Snapshot__10_note.sh").write_text(text)
    forget_plugins()


@pytest.mark.parametrize(
    ("sets", "counts"),
    [
        ([("a", "1.0", 1, 0)], "a"),
        ([("a", "1.0", 9, 0), ("b", "1.1", 1, 1)], "b"),
        ([("a", "1.9", 1, 0), ("b", "1.10", 1, 1)], "b"),
        ([("a", "1.0", 2, 1), ("b", "1.0", 3, 2)], "b"),
        ([("a", "1.0", 1, 1), ("b", "1.0", 1, 0)], "b"),
        ([], ""),
    ],
)
def test_the_newest_version_counts_then_the_most_machines_then_the_older_set(
    sets: list[tuple[str, str, int, int]], counts: str
) -> None:
    made = [PluginSet(digest, version, count, NOON + timedelta(hours=hour)) for digest, version, count, hour in sets]
    assert digest_that_counts(made) == counts
    assert digest_that_counts(reversed(made)) == counts


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
    elsewhere({"mine": "1"})
    report(OURS)
    assert plugins_problem() == ""
    assert ReadinessCheck().may_begin()
    assert Machine.current().plugins == {}


@shared
def test_a_plugin_that_is_on_one_machine_alone_is_named() -> None:
    elsewhere(OURS)
    report({**OURS, "mine": "1"})
    assert plugins_problem() == (
        "the plugin mine is on attic and not on nas: copy plugins/mine to nas, or remove it from attic"
    )


@shared
def test_plugins_that_are_missing_or_differ_are_named() -> None:
    elsewhere({"a": "1", "b": "1", "c": "1", "d": "1", "e": "2"})
    report({"e": "1"})
    said = plugins_problem()
    assert "the plugins a, b, c and 1 more are on nas and not on attic: copy their folders in plugins/ to attic" in said
    assert "the plugin e differs between attic and nas" in said


@shared
def test_machines_of_an_older_version_begin_nothing_and_the_newer_works() -> None:
    old = elsewhere({"wget": "0"}, version="0.0.0")
    report(OURS)
    assert plugins_problem() == ""
    here = Machine.current()
    assert plugin_problems([old.pk, here.pk]) == {
        old.pk: f"nas has ArchiveBox 0.0.0, and attic {here.version}: upgrade nas"
    }


@shared
def test_machines_that_are_drained_or_offline_do_not_count() -> None:
    ways: tuple[dict[str, Any], ...] = ({"drain_by": timezone.now()}, {"seen_at": timezone.now() - timedelta(hours=1)})
    for columns in ways:
        elsewhere({"other": "1"}, **columns)
        elsewhere({"other": "1"}, **columns)
    report(OURS)
    assert plugins_problem() == ""


@shared
def test_no_work_begins_with_other_plugins_until_they_are_the_same(collection: DataFolder) -> None:
    told: list[str] = []
    check = ReadinessCheck(told.append)
    assert check.may_begin()
    other = Machine.objects.get()
    other.pk, other.hostname = new_id(), "nas"
    other.save(force_insert=True)
    plugin(collection, "mine")
    assert not (check := ReadinessCheck(told.append)).may_begin()
    assert not check.may_begin()
    (said,) = told
    assert said.startswith("No work begins: the plugin mine is on ")
    assert "doctor" in problems()["machine"]
    (collection.plugins / "mine" / "on_Snapshot__10_note.sh").unlink()
    (collection.plugins / "mine").rmdir()
    forget_plugins()
    assert ReadinessCheck().may_begin()
