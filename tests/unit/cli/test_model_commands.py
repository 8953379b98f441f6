"""Commands of models make, change and remove what is typed or piped into them, and print records for the next."""

import json
import time
from collections.abc import Mapping
from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from archivebox import __version__
from archivebox.config.personas import personas_in
from archivebox.core.models import ArchiveResult, Snapshot, Tag
from archivebox.core.tags.assign_tags import tag
from archivebox.crawls import control
from archivebox.crawls.models import Crawl
from archivebox.machine.models import Binary, Machine, Process
from archivebox.storage.layout import DataFolder
from tests.factories import crawl, leased, plugin
from tests.unit.cli.typed import TypedHere, typed

A, B, C = "https://a.test/", "https://b.test/", "https://c.test/"
NOBODYS = "00000000-0000-7000-8000-000000000000"
"""An id that no row has."""
STRANGER = {"type": "Stranger", "id": "x", "of": ["another", "collection"]}


@pytest.fixture
def pages(collection: DataFolder) -> dict[str, Snapshot]:  # noqa: ARG001 - rows are made in it
    """Two pages of a crawl, the first with a tag, and one of another crawl."""
    crawl(A, B)
    crawl(C)
    found = {page.url: page for page in Snapshot.objects.all()}
    tag([found[A].pk], ["news"])
    return found


def lines(*records: Mapping[str, object]) -> str:
    return "".join(f"{json.dumps(record)}\n" for record in records)


def tags_of(url: str) -> set[str]:
    return set(Tag.objects.filter(snapshot_set__url=url).values_list("name", flat=True))


# --- crawl --------------------------------------------------------------------------------------------------------


def test_a_crawl_is_made_of_arguments_lines_and_records(collection: DataFolder) -> None:
    assert collection.root.is_dir()
    done = typed(f"crawl create --depth 2 --tag=news,fruit --label x {A} {B}")
    (record,) = done.records
    assert (record["type"], record["max_depth"], record["tags_str"], record["snapshots"]) == (
        "Crawl",
        2,
        "news,fruit",
        2,
    )
    assert typed("crawl create", f"{A}\n{B}\n").records[0]["snapshots"] == 2
    records = lines({"type": "Snapshot", "url": C}, {"type": "Snapshot", "url": A, "tags": ["own"]})
    assert typed("crawl create", records).records[0]["snapshots"] == 2
    assert "own" in tags_of(A)
    wanted = lines({"type": "Crawl", "urls": f"{A}\n{C}\n"})
    assert typed("crawl create --status paused", wanted).records[0]["snapshots"] == 2
    assert Crawl.objects.order_by("-pk")[0].status == "paused"
    assert Crawl.objects.count() == 4


def test_create_prints_other_records_and_crawls_that_are_there_as_they_came(pages: dict[str, Snapshot]) -> None:
    known = {"type": "Crawl", "id": str(pages[A].crawl_id)}
    done = typed("crawl create", lines(STRANGER, known, {"type": "Snapshot", "url": B}))
    assert done.records[:2] == [STRANGER, known]
    assert done.types[2:] == ["Crawl"]
    only = typed("crawl create", lines(STRANGER))
    assert (only.code, only.records) == (0, [STRANGER])
    assert Crawl.objects.count() == 3


@pytest.mark.parametrize(
    ("words", "stdin", "sentence"),
    [
        ("crawl create nonsense", None, "nonsense"),
        ("crawl create --plugins nothing https://a.test/", None, "no plugin"),
        ("crawl create", lines({"type": "Crawl", "id": NOBODYS}), "no crawl"),
        ("snapshot create", "not a url at all\n", "URL"),
        ("snapshot create", lines({"type": "Snapshot"}), "neither an id nor a url"),
        ("crawl create", lines({"type": "Crawl", "urls": A, "tags_str": "news"}), "tags_str of a new Crawl"),
        ("crawl update --status paused", lines({"type": "Crawl", "id": NOBODYS}), "no crawl"),
        ("crawl update --status paused", "{}\n", "not a JSON record"),
        ("crawl update --status paused", None, "--all"),
        ("crawl update", "", "--status, --label"),
        ("crawl delete --yes", None, "--all"),
        ("snapshot update --tag x", None, "--all"),
        ("snapshot update", "", "--tag"),
        ("snapshot update --tag ---", "", "not a tag"),
        ("snapshot delete --yes", None, "--all"),
        ("archiveresult create --plugins pdf", None, "--all"),
        ("archiveresult create --plugins nothing", "", "no plugin"),
        ("archiveresult update --status queued", None, "--all"),
        ("archiveresult update", "", "--status"),
        ("tag create !!!", None, "a letter or a digit"),
        ("tag update --name x", None, "--all"),
        ("tag update", "", "--name"),
        ("tag update gone --name x", None, "no tag 'gone'"),
        ("tag delete --yes", None, "--all"),
        ("tag delete --yes", lines({"type": "Tag", "name": "gone"}), "no tag 'gone'"),
        ("binary delete --yes", None, "--all"),
        ("persona update --name x", None, "--all"),
        ("persona delete --yes", None, "--all"),
        ("persona delete --yes gone", None, "no persona"),
        ("persona create a ../b", None, "not a persona's name"),
    ],
)
def test_what_is_wrong_is_a_sentence_and_nothing_is_done(
    pages: dict[str, Snapshot], words: str, stdin: str | None, sentence: str
) -> None:
    done = typed(words, stdin)
    assert done.code == 2, done
    assert sentence in done.err
    assert done.out == ""
    assert Snapshot.objects.kept().count() == len(pages)
    assert Crawl.objects.count() == 2
    assert not any(one.name == "b" for one in personas_in(DataFolder(pages[A].path.parents[0]).personas))


def test_crawls_are_changed_by_ids_and_records(pages: dict[str, Snapshot]) -> None:
    key = str(pages[A].crawl_id)
    (record,) = typed(f"crawl update --label x --max-depth 3 {key[:13]}").records
    assert (record["label"], record["max_depth"]) == ("x", 3)
    listed = typed("crawl list --label x")
    paused = typed("crawl update --status paused", listed.out)
    assert [record["status"] for record in paused.records] == ["paused"]
    assert typed(f"crawl update --status paused {key}").code == 2
    assert typed("crawl update --status queued", paused.out).records[0]["status"] == "queued"
    assert typed("crawl update --status=sealed --all").records[0]["status"] == "cancelled"


def test_deleted_crawls_take_their_pages_along_and_come_back_with_them(pages: dict[str, Snapshot]) -> None:
    key = str(pages[A].crawl_id)
    listed = typed("crawl list --urls__icontains a.test")
    preview = typed("crawl delete --dry-run", listed.out)
    assert preview.types == ["Crawl"]
    assert typed("crawl delete", listed.out).code == 0, "nobody is there to be asked"
    assert Snapshot.objects.kept().count() == 3
    assert typed("crawl delete --yes", listed.out).records == [{"type": "Removal", "crawls": 1, "snapshots": 2}]
    assert typed("list").urls == [C]
    assert typed("crawl delete --yes", "").code == 0
    typed(f"crawl update --status queued {key}")
    assert typed("list").urls == [C, B, A]


# --- snapshot -----------------------------------------------------------------------------------------------------


def test_a_crawl_piped_into_snapshot_create_is_its_pages(collection: DataFolder) -> None:
    assert collection.root.is_dir()
    made = typed(f"crawl create {A} {B}")
    done = typed("snapshot create --tag x", made.out)
    assert done.types == ["Crawl", "Snapshot", "Snapshot"]
    assert tags_of(A) == {"x"}
    assert Crawl.objects.count() == 1
    assert typed(f"snapshot create --tag y {C}").urls == [C]
    assert tags_of(C) == {"y"}


def test_pages_of_one_tag_get_another(pages: dict[str, Snapshot]) -> None:
    done = typed("snapshot update --tag b,c", typed("snapshot list --tag news").out + lines(STRANGER))
    assert done.records[0] == STRANGER
    assert done.urls == [A]
    assert done.records[1]["tags"] == ["b", "c", "news"]
    assert (tags_of(A), tags_of(B)) == ({"news", "b", "c"}, set())
    typed(f"snapshot update --untag news --untag c --title Pears --visibility public {A}")
    pages[A].refresh_from_db()
    assert (tags_of(A), pages[A].title, pages[A].visibility) == ({"b"}, "Pears", "public")


def test_pages_are_named_by_tags_results_and_crawls(pages: dict[str, Snapshot]) -> None:
    ArchiveResult.objects.create(snapshot=pages[B], plugin="pdf", hook_name="x", status="failed")
    assert typed("list -", typed("tag list --name news").out).urls == [A]
    assert typed("list -", typed("archiveresult list --status failed").out).urls == [B]
    assert typed("list - --sort url", typed("crawl list").out).urls == [A, B, C]
    assert typed("snapshot update --tag seen", lines({"type": "Tag", "name": "NEWS"})).urls == [A]
    assert typed("archiveresult list -", lines({"type": "Snapshot", "url": B})).records[0]["plugin"] == "pdf"


def test_removal_takes_pages_and_crawls_alone(pages: dict[str, Snapshot]) -> None:
    assert len(pages) == 3
    by_tag = typed("snapshot delete --yes", typed("tag list").out)
    assert by_tag.code == 0
    assert "Left out of the selection: 1 record of type Tag" in by_tag.err
    assert Snapshot.objects.kept().count() == 3
    listed = typed("list --tag news").out
    assert typed("snapshot delete --dry-run --yes", listed).urls == [A]
    assert Snapshot.objects.kept().count() == 3
    assert typed("snapshot delete --yes", listed).records[0]["snapshots"] == 1
    assert typed("remove --undo --yes", listed).records[0]["snapshots"] == 1
    assert Snapshot.objects.kept().count() == 3


def test_statuses_of_pages_are_asked_for_by_their_names(pages: dict[str, Snapshot]) -> None:
    assert len(pages) == 3
    assert typed(f"snapshot update --status paused {A} {B}").code == 0
    assert set(typed("list --status paused").urls) == {A, B}
    assert typed(f"snapshot update --status queued {A}").code == 0
    refused = typed(f"snapshot update --status queued {C}")
    assert refused.code == 2
    assert "cannot be queued" in refused.err


# --- archiveresult ------------------------------------------------------------------------------------------------


def test_results_are_queued_also_for_plugins_that_nobody_chose(pages: dict[str, Snapshot]) -> None:
    plugin("asked", {"on_Snapshot__60_asked.sh": "#!/bin/sh\n"})
    plugin("off", {"on_Snapshot__61_off.sh": "#!/bin/sh\n", "config.json": json.dumps(OFF)})
    Crawl.objects.update(config={"PLUGINS": ["asked"]})
    done = typed("archiveresult create --plugins off", typed("list --tag news").out + lines(STRANGER))
    assert done.records[0] == STRANGER
    assert [(record["plugin"], record["status"], record["url"]) for record in done.records[1:]] == [
        ("off", "queued", A)
    ]
    assert {result.plugin for result in pages[A].archiveresult_set.all()} == {"asked", "off"}
    pages[A].refresh_from_db()
    assert pages[A].config == {"PLUGINS": ["asked", "off"], "OFF_ENABLED": True}
    assert typed(f"archiveresult create {B}").records[0]["plugin"] == "asked"
    assert not pages[C].archiveresult_set.exists()


OFF = {"properties": {"OFF_ENABLED": {"type": "boolean", "default": False}}}


def test_nothing_is_queued_for_pages_that_a_worker_has_or_that_were_cancelled(pages: dict[str, Snapshot]) -> None:
    Snapshot.objects.filter(url=A).update(owner=uuid4())
    control.cancel(pages[C].crawl)
    done = typed(f"archiveresult create --plugins pdf {A} {C}")
    assert done.code == 2
    assert done.records == []
    assert done.err.count("nothing was queued") == 2


def test_failed_results_are_queued_again_and_those_that_are_there_stay(pages: dict[str, Snapshot]) -> None:
    of = {"snapshot": pages[A], "hook_name": "x"}
    ArchiveResult.objects.create(plugin="pdf", status="failed", reason="timeout", **of)
    ArchiveResult.objects.create(plugin="wget", status="succeeded", **(of | {"hook_name": "y"}))
    listed = typed("archiveresult list --status=failed")
    done = typed("archiveresult update --status=queued", listed.out + lines(STRANGER))
    assert [record.get("status") for record in done.records] == [None, "queued"]
    assert set(pages[A].archiveresult_set.values_list("plugin", "status")) == {("pdf", "queued"), ("wget", "succeeded")}


# --- tag ----------------------------------------------------------------------------------------------------------


def test_tags_are_made_renamed_merged_and_deleted(pages: dict[str, Snapshot]) -> None:
    made = typed("tag create News fruit")
    assert [(record["name"], record["snapshots"]) for record in made.records] == [("news", 1), ("fruit", 0)]
    tag([pages[B].pk], ["fruit"])
    assert typed("tag update --name apples", typed("tag list --name fruit").out).records[0]["name"] == "apples"
    assert typed("tag update apples --name NEWS").code == 2
    assert typed("tag update --name food --all").code == 2
    assert typed("tag update apples --name news --merge").records[0]["snapshots"] == 2
    assert (tags_of(A), tags_of(B)) == ({"news"}, {"news"})
    tag([pages[C].pk], ["x"])
    (merged,) = typed("tag update --merge --name all --all").records
    assert (merged["name"], merged["snapshots"]) == ("all", 3)
    assert typed("tag delete --dry-run all").types == ["Tag"]
    assert typed("tag delete --yes", typed("tag list --name__icontains al").out).records[0]["tags"] == 1
    assert not Tag.objects.exists()
    assert typed("tag delete --yes", "").code == 0


# --- binary, persona ----------------------------------------------------------------------------------------------


def test_programs_are_forgotten_by_name_and_record(collection: DataFolder) -> None:
    assert collection.root.is_dir()
    machine = Machine.current()
    for name in ("one", "two", "three"):
        Binary.objects.create(name=name, machine=machine, created_by_id=crawl().created_by_id)
    assert typed("binary delete --yes one").records[0]["binaries"] == 1
    assert typed("binary delete --dry-run", typed("binary list --name two").out).records[0]["name"] == "two"
    assert typed("binary delete --yes", typed("binary list --name two").out).code == 0
    assert typed("binary list").records[0]["name"] == "three"


def test_a_machine_is_shown_drained_and_resumed(pages: dict[str, Snapshot]) -> None:
    machine = Machine.current()
    worker = Process.objects.create(machine=machine, process_type="worker", status="running")
    leased(pages[A], worker)
    (shown,) = typed(f"machine show {machine.pk}").records
    assert (shown["state"], shown["pages"], shown["urls"]) == ("working", 1, [A])
    assert shown["processes"] == Process.objects.running().count()
    assert shown["version"] == __version__
    assert typed(f"machine drain {machine.pk} --within 60").records[0]["state"] == "draining"
    drained = Machine.objects.get()
    assert drained.drain_by is not None
    assert drained.drain_by <= timezone.now() + timedelta(seconds=60)
    assert typed("machine list").records[0]["state"] == "draining"
    assert typed(f"machine resume {machine.pk}").records[0]["drain_by"] is None
    assert typed(f"machine drain {NOBODYS}").code == 2
    assert typed(f"machine remove {machine.pk}").code == 2, "it works"
    lost = Machine.objects.create(hostname="attic", seen_at=timezone.now() - timedelta(hours=1))
    assert typed(f"machine remove {lost.pk}").records[0]["state"] == "offline"
    assert [record["id"] for record in typed("machine list").records] == [str(machine.pk)]


def test_whoever_drains_the_machine_here_may_wait_for_its_pages(
    pages: dict[str, Snapshot], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a pod does that is taken away."""
    page = leased(pages[A], Process.objects.create(machine=Machine.current(), process_type="worker", status="running"))
    looks = []

    def finish(seconds: float) -> None:
        looks.append(seconds)
        Snapshot.objects.filter(pk=page.pk).update(owner=None)

    monkeypatch.setattr(time, "sleep", finish)
    Machine.objects.update(seen_at=timezone.now() - timedelta(hours=1))  # of one that works alone nothing is heard
    assert typed("machine drain here --wait").records[0]["state"] == "draining"
    assert len(looks) == 1
    Machine.objects.update(seen_at=timezone.now())
    assert typed("machine show here --alive").code == 0
    Machine.objects.update(seen_at=timezone.now() - timedelta(hours=1))
    assert typed("machine show here --alive").code == 1
    assert typed("machine drain here --wait").code == 0


def test_the_persona_of_crawls_that_name_none_is_there_and_can_be_given_cookies(collection: DataFolder) -> None:
    cookies = collection.root / "cookies.txt"
    cookies.write_text("example.com\tFALSE\t/\tFALSE\t0\tsession\tmine\n")
    assert typed(f"persona import-cookies Default {cookies}").records[0]["cookies"] is True


def test_personas_are_made_changed_and_deleted(collection: DataFolder) -> None:
    def names(done: TypedHere) -> list[object]:
        return [record["name"] for record in done.records]

    assert names(typed("persona create work old-one old-two")) == ["work", "old-one", "old-two"]
    assert typed("persona create new work").code == 2
    assert names(typed("persona list --name__icontains OLD")) == ["old-one", "old-two"]
    assert typed("persona list --csv name --name work").out == "work\n"
    changed = typed("persona update --config USER_AGENT=Mozilla", typed("persona list --name work").out)
    assert changed.records[0]["settings"] == ["USER_AGENT"]
    assert names(typed("persona update old-one --name older")) == ["older"]
    crawl(A)
    Crawl.objects.update(persona="work")
    assert typed("persona update work --name play").code == 2
    assert typed("persona delete --yes work").code == 2
    assert names(typed("persona delete", typed("persona list --name older").out)) == ["older"]
    assert typed("persona delete --yes", typed("persona list --name__icontains old").out).code == 0
    assert [persona.name for persona in personas_in(collection.personas)] == ["Default", "work"]
