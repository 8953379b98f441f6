"""What is done to one page or to many: tags, new versions, another try, removal and its undoing."""

from uuid import UUID

import pytest

from archivebox.base_models.users import system_user
from archivebox.base_models.visibility import EVERYTHING
from archivebox.core.crawl_control.retry import retry_failed
from archivebox.core.intake.recapture import add_versions, recapture
from archivebox.core.models import ArchiveResult, Snapshot
from archivebox.core.tags.assign_tags import tag, untag
from archivebox.lib.jsonl import JSON
from archivebox.search.removal import bring_back, plan_removal, remove
from tests import factories

pytestmark = pytest.mark.usefixtures("collection")
A, B, C = "https://a.example/", "https://b.example/", "https://c.example/"


@pytest.fixture
def keys() -> list[UUID]:
    return list(factories.crawl(A, B, C).snapshot_set.order_by("id").values_list("pk", flat=True))


def tags_of(key: UUID) -> list[str]:
    return sorted(Snapshot.objects.get(pk=key).tags.values_list("name", flat=True))


def test_tags_are_put_on_and_taken_off_whatever_is_there_already(keys: list[UUID]) -> None:
    tag(keys, ["To read", "fruit", "!"])
    tag(keys[:1], ["to  READ"])
    assert tags_of(keys[0]) == ["To read", "fruit"]
    untag(keys[:2], ["TO READ", "nothing"])
    assert [tags_of(key) for key in keys] == [["fruit"], ["fruit"], ["To read", "fruit"]]


def test_new_versions_are_of_a_crawl_of_their_own_with_the_tags_of_the_old(keys: list[UUID]) -> None:
    tag(keys, ["fruit"])
    rows = Snapshot.objects.filter(pk__in=keys)
    crawl = recapture(rows.filter(pk__in=keys[:2]), created_by=system_user(), plugins=["title"])
    add_versions(crawl, rows)
    assert sorted(crawl.snapshot_set.values_list("url", flat=True)) == [A, B, C]
    assert crawl.config == {"PLUGINS": ["title"]}
    assert all(tags_of(one.pk) == ["fruit"] for one in crawl.snapshot_set.all())
    assert not crawl.snapshot_set.filter(pk__in=keys).exists()


def test_a_new_version_has_the_old_ones_settings_except_the_crawls_scope() -> None:
    own: dict[str, JSON] = {"TIMEOUT": 7, "USER_AGENT": "x", "PLUGINS": ["title"], "URL_SCOPE": "host", "MAX_URLS": 3}
    one = factories.crawl(A, config={**own, "ACTIVE_PERSONA": "Reader"})
    other = factories.crawl(B, config={"TIMEOUT": 7, "KEEP_UNCHANGED": False})
    alone = recapture(one.snapshot_set.all(), created_by=system_user())
    assert alone.config == {"TIMEOUT": 7, "USER_AGENT": "x", "PLUGINS": ["title"], "ACTIVE_PERSONA": "Reader"}
    assert alone.snapshot_set.get().config == {}
    both = recapture(Snapshot.objects.filter(crawl__in=[one, other]), created_by=system_user())
    assert both.config == {"TIMEOUT": 7}
    assert both.snapshot_set.get(url=A).config == {
        "USER_AGENT": "x", "PLUGINS": ["title"], "ACTIVE_PERSONA": "Reader",
    }  # fmt: skip
    anew = recapture(one.snapshot_set.all(), created_by=system_user(), plugins=["dom"])
    assert (anew.config["PLUGINS"], anew.snapshot_set.get().config) == (["dom"], {})


def test_what_failed_is_tried_again_for_its_reason_and_of_its_plugin(keys: list[UUID]) -> None:
    for key, plugin, reason in [
        (keys[0], "wget", "timeout:60"),
        (keys[1], "wget", "crashed"),
        (keys[2], "x", "timeout"),
    ]:
        hook = f"on_Snapshot__50_{plugin}.py"
        ArchiveResult.objects.create(snapshot_id=key, plugin=plugin, hook_name=hook, status="failed", reason=reason)
    rows = Snapshot.objects.filter(pk__in=keys)
    assert retry_failed(rows, ["wget"], "timeout") == 1
    assert retry_failed(rows, reason="crashed") == 1
    assert retry_failed(rows) == 1


def test_what_is_removed_is_gone_from_lists_until_it_is_brought_back(keys: list[UUID]) -> None:
    ArchiveResult.objects.create(snapshot_id=keys[0], plugin="wget", status="succeeded", output_size=7)
    rows = Snapshot.objects.filter(pk__in=keys[:2])
    assert plan_removal(None, keys[:2], EVERYTHING).size == 7
    assert remove(rows) == (2, "")
    assert Snapshot.objects.kept().count() == 1
    assert bring_back(rows) == (2, "")
    assert Snapshot.objects.kept().count() == 3
