"""A query selects the pages that it means, and what may stand in it is proposed."""

from __future__ import annotations

import pytest
from django.db import connection
from django.utils import timezone

from archivebox.base_models.visibility import EVERYTHING, Sight
from archivebox.core.models import ArchiveResult, Snapshot, Tag
from archivebox.search.query import QueryError, complete, select
from tests import factories

pytestmark = pytest.mark.usefixtures("collection")


@pytest.fixture
def pages() -> dict[str, Snapshot]:
    """Four pages of three hosts, by their last part."""
    urls = [
        "https://a.example/pear",
        "https://a.example/apple",
        "https://www.a.example/plum",
        "http://b.example:81/fig",
    ]
    rows = {one.url.rpartition("/")[2]: one for one in factories.crawl(*urls).snapshot_set.all()}
    Snapshot.objects.filter(pk=rows["pear"].pk).update(
        title="A ripe Pear", status="sealed", mime_type="text/html", quality=40
    )
    Snapshot.objects.filter(pk=rows["plum"].pk).update(status="sealed", mime_type="image/png", depth=1, quality=80)
    Snapshot.objects.filter(pk=rows["fig"].pk).update(retired_at=timezone.now())
    rows["pear"].tags.add(Tag.named("To Read"))  # type: ignore[arg-type]  # the name has letters
    rows["plum"].tags.add(Tag.named("fruit"))  # type: ignore[arg-type]  # the name has letters
    for page, plugin, status, reason in [
        ("pear", "wget", "failed", "timeout:60"),
        ("pear", "title", "succeeded", ""),
        ("plum", "wget", "succeeded", ""),
        ("plum", "title", "skipped", "disabled"),
        ("apple", "wget", "queued", ""),
    ]:
        ArchiveResult.objects.create(
            snapshot=rows[page], plugin=plugin, hook_name=f"on_{plugin}", status=status, reason=reason
        )
    return rows


@pytest.mark.parametrize(
    ("query", "meant"),
    [
        ("", "apple pear plum"),
        ("PEAR ripe", "pear"),
        ("pear fruit", ""),
        ("fruit", "plum"),
        ("a.example -pear", "apple plum"),
        ("host:a.example", "apple pear"),
        ("host:*.a.example", "plum"),
        ("host:a.example or #fruit", "apple pear plum"),
        ('#"to  read"', "pear"),
        ("#missing", ""),
        ("not is:tagged", "apple"),
        ("title:ripe", "pear"),
        ("url:/p", "pear plum"),
        ("url:https://a.example/pear", "pear"),
        ("url:https://a.example/*", "apple pear"),
        ("is:failed", "pear"),
        ("is:complete", "plum"),
        ("is:done", "pear plum"),
        ("is:open", "apple"),
        ("is:seed -is:done", "apple"),
        ("is:removed", "fig"),
        ("plugin:wget", "plum"),
        ("plugin:wget status:failed", "pear"),
        ("plugin:title status:failed", ""),
        ("plugin:wget status:queued", "apple"),
        ("status:queued", "apple"),
        ("reason:timeout", "pear"),
        ("reason:timeout:60 plugin:wget", "pear"),
        ("reason:disabled", ""),
        ("reason:disabled status:skipped", "plum"),
        ("type:image", "plum"),
        ("type:page", "pear"),
        ("mime:image", "plum"),
        ("mime:text/html", "pear"),
        ("quality:<80", "pear"),
        ("quality:<=80", "pear plum"),
        ("quality:>40", "plum"),
        ("quality:>=40", "pear plum"),
        ("quality:80", "plum"),
        ("quality:unknown", "apple"),
        ("-quality:<80", "apple plum"),
        ("after:1d before:2999", "apple pear plum"),
        ("before:1d", ""),
        ("text:pear", ""),
        ("-text:pear", "apple pear plum"),
    ],
)
def test_a_query_means(pages: dict[str, Snapshot], query: str, meant: str) -> None:
    found = {url.rpartition("/")[2] for url in select(query, EVERYTHING).values_list("url", flat=True)}
    assert sorted(found) == meant.split()
    assert pages


def test_ids_and_crawls_are_known_by_their_beginning(pages: dict[str, Snapshot]) -> None:
    assert select(f"id:{pages['pear'].pk}", EVERYTHING).get() == pages["pear"]
    assert select(f"crawl:{str(pages['pear'].crawl_id)[:12]}", EVERYTHING).count() == 3


def test_what_was_removed_is_not_among_what_others_may_see(pages: dict[str, Snapshot]) -> None:
    assert not select("is:removed", EVERYTHING, removed=False).exists()
    assert pages


def test_pages_that_were_never_begun_are_found_where_they_are_asked_for(pages: dict[str, Snapshot]) -> None:
    Snapshot.objects.filter(pk__in=[pages["pear"].pk, pages["plum"].pk]).update(status="cancelled")
    Snapshot.objects.filter(pk=pages["plum"].pk).update(fence=1)

    def found(query: str) -> list[str]:
        return sorted(page.url.rpartition("/")[2] for page in select(query, EVERYTHING, among=Snapshot.objects.kept()))

    assert found("") == found("host:*.a.example or host:a.example") == found("-is:unfetched") == ["apple", "plum"]
    assert found("is:unfetched") == found("PEAR is:unfetched") == found(f"id:{pages['pear'].pk}") == ["pear"]
    assert found("is:cancelled") == found("status:cancelled") == ["pear", "plum"]


def test_what_may_stand_there_is_proposed(pages: dict[str, Snapshot]) -> None:
    def proposed(text: str) -> list[str]:
        return [text[: one.start] + one.text for one in complete(text, len(text), EVERYTHING)]

    assert proposed("ho") == ["host:"]
    assert proposed("x -host:a") == ["x -host:a.example"]
    assert proposed("#re") == ['#"To Read"']
    assert proposed('#"to re') == ['#"To Read"']
    assert proposed("status:fa") == ["status:failed"]
    assert proposed("(plugin:screens") == ["(plugin:screenshot"]
    assert proposed("mime:im") == ["mime:image/png"]
    assert proposed("nothing") == []
    assert pages


@pytest.mark.parametrize(
    ("query", "index"),
    [
        ("host:a.example", "snapshot_of_host"),
        ("type:pdf", "snapshot_of_type"),
        ("url:https://a.example/", "snapshot_url"),
        ("url:https://a.example/*", "snapshot_url"),
        ("is:failed", "result_failed"),
        ("plugin:wget status:failed", "result_failed_in"),
        ("status:paused", "snapshot_open"),
        ("quality:<80", "snapshot_of_quality"),
        ("", "snapshot_in_library"),
        ("is:unfetched", "snapshot_unfetched"),
    ],
)
@pytest.mark.once
def test_rare_pages_are_found_by_an_index(query: str, index: str) -> None:
    assert connection.vendor == "sqlite"
    assert index in select(query, EVERYTHING).order_by("-pk")[:51].explain()


@pytest.mark.parametrize(
    ("query", "sight", "index"),
    [("", Sight(), "snapshot_public"), ("", Sight(1), "snapshot_in_library"), ("is:private", Sight(1), "private")],
)
@pytest.mark.once
def test_what_somebody_sees_is_read_in_its_order_from_an_index(query: str, sight: Sight, index: str) -> None:
    plan = select(query, sight).order_by("-pk")[:51].explain()
    assert index in plan


@pytest.mark.parametrize("sight", [EVERYTHING, Sight(1), Sight()], ids=["all", "member", "passer-by"])
@pytest.mark.once
def test_the_worst_pages_are_read_in_their_order_from_an_index(sight: Sight) -> None:
    plan = select("", sight).measured().order_by("quality", "pk")[:61].explain()
    assert ("snapshot_public_quality" if sight == Sight() else "snapshot_of_quality") in plan
    assert "TEMP B-TREE" not in plan


def test_all_that_have_common_words_in_a_text_is_refused_where_they_are_too_many() -> None:
    assert list(select("word", EVERYTHING, every=True)) == []
    with pytest.raises(QueryError, match="no key"):
        select("ripe colour:red", EVERYTHING)
