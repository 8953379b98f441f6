"""A query selects the pages that it means, and what may stand in it is proposed."""

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from archivebox.base_models.paging import NEWEST, Order, PageCursor, PageOfRows, page_near
from archivebox.base_models.visibility import EVERYTHING, ViewerScope, seen_by
from archivebox.core.models import ArchiveResult, Note, Snapshot, Tag
from archivebox.search.backend import SearchHit
from archivebox.search.facets import count_of, facets
from archivebox.search.finding import ORDERS, find, page_found, sortable
from archivebox.search.query import QueryError, chosen, complete, select, selection
from tests import factories
from tests.status_triggers import arrange

pytestmark = pytest.mark.usefixtures("collection")
SIGHTS = (EVERYTHING, ViewerScope(1), ViewerScope())
"""An administrator, a member, a passer-by."""


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
    arrange(
        Snapshot.objects.filter(pk=rows["pear"].pk),
        title="A ripe Pear",
        status="sealed",
        mime_type="text/html",
        quality=40,
        http_status=200,
        size=5,
        is_lossy=True,
    )
    arrange(
        Snapshot.objects.filter(pk=rows["plum"].pk),
        status="sealed",
        mime_type="image/png",
        depth=1,
        quality=80,
        http_status=404,
        size=9,
    )
    Note.objects.create(snapshot=rows["apple"], text="Good for jam")
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
    for page, mimetypes in [("pear", "application/pdf"), ("plum", "image/png")]:
        ArchiveResult.objects.create(
            snapshot=rows[page], plugin="staticfile", status="succeeded", output_mimetypes=mimetypes
        )
    return rows


@pytest.mark.parametrize(
    ("query", "meant"),
    [
        ("", "apple pear plum"), ("PEAR ripe", "pear"), ("pear fruit", ""), ("fruit", "plum"),
        ("a.example -pear", "apple plum"), ("host:a.example", "apple pear"), ("host:*.a.example", "plum"),
        ("host:a.example or #fruit", "apple pear plum"), ('#"to  read"', "pear"), ("#missing", ""),
        ("not is:tagged", "apple"), ("title:ripe", "pear"), ("url:/p", "pear plum"),
        ("url:https://a.example/pear", "pear"), ("url:https://a.example/*", "apple pear"), ("is:failed", "pear"),
        ("is:complete", "plum"), ("is:done", "pear plum"), ("is:open", "apple"), ("is:seed -is:done", "apple"),
        ("is:removed", "fig"), ("plugin:wget", "plum"), ("plugin:wget status:failed", "pear"),
        ("plugin:title status:failed", ""), ("status:queued", "apple"), ("reason:timeout", "pear"),
        ("reason:disabled", ""), ("reason:disabled status:skipped", "plum"), ("type:image", "plum"),
        ("type:page", "pear"), ("mime:image", "plum"), ("quality:<80", "pear"), ("quality:<=80", "pear plum"),
        ("quality:>40", "plum"), ("quality:>=40", "pear plum"),
        ("quality:80", "plum"), ("quality:unknown", "apple"), ("is:lossy", "pear"), ("-quality:<80", "apple plum"),
        ("http:404", "plum"), ("http:4xx", "plum"), ("http:none", ""), ("-http:4xx", "apple pear"),
        ("note:JAM", "apple"), ("jam", "apple"), ("has:note", "apple"), ("has:pdf", "pear"), ("has:media", ""),
        ("after:1d before:2999", "apple pear plum"), ("before:1d", ""), ("text:pear", ""),
        ("-text:pear", "apple pear plum"),
    ],
)  # fmt: skip
def test_a_query_means(pages: dict[str, Snapshot], query: str, meant: str) -> None:
    found = {url.rpartition("/")[2] for url in select(query, EVERYTHING).values_list("url", flat=True)}
    assert sorted(found) == meant.split()
    assert pages


@pytest.mark.parametrize("query", ["note:jam", "has:note", "jam"])
def test_notes_are_found_by_those_who_may_read_them_alone(pages: dict[str, Snapshot], query: str) -> None:
    Snapshot.objects.all().update(visibility="public")
    assert list(select(query, ViewerScope(1))) == [pages["apple"]]
    assert not select(query, ViewerScope()).exists(), "a passer-by sees no notes"
    assert not select(query, ViewerScope(1), texts=False).exists(), "nor does who may see the list alone"


def test_a_search_says_where_in_a_note_its_words_are(pages: dict[str, Snapshot]) -> None:
    (found,) = find(chosen("JAM", EVERYTHING), 5)
    (match,) = found.matches
    assert (match.where, match.snippet) == ("note", "Good for jam")
    assert [match.snippet[start:end] for start, end in match.highlights] == ["jam"]
    assert pages


def test_pages_are_sorted_by_what_lists_call_them_and_by_size(pages: dict[str, Snapshot]) -> None:
    def listed(order: str) -> list[str]:
        names: list[str] = []
        place: PageCursor | None = PageCursor()
        while place is not None:
            page = page_found(sortable(chosen("", EVERYTHING), order), place, 1, ORDERS[order])
            names += [row.url.rpartition("/")[2] for row in page.rows]
            place = PageCursor(before=page.older) if page.older else None
        return names

    assert listed("title") == ["pear", "apple", "plum"], "by title, and by URL where there is none"
    assert listed("size") == ["plum", "pear", "apple"]
    assert listed("worst") == ["pear", "plum"], "measured pages only"
    assert pages


def test_facets_are_those_of_what_was_found(pages: dict[str, Snapshot]) -> None:
    def counted(query: str) -> dict[str, int]:
        found = facets(chosen(query, EVERYTHING))
        return {choice.query: choice.count for facet in found for choice in facet.choices if facet.title != "Years"}

    assert counted("") == {
        "is:open": 1, "is:failed": 1, "is:lossy": 1, "type:page": 1, "type:image": 1, '#"To Read"': 1,
        "#fruit": 1, "host:a.example": 2, "host:www.a.example": 1,
    }  # fmt: skip
    assert counted("is:failed") == {
        "is:failed": 1, "is:lossy": 1, "type:page": 1, '#"To Read"': 1, "host:a.example": 1,
    }  # fmt: skip
    assert counted("nothing") == {}
    assert pages


def test_ids_and_crawls_are_known_by_their_beginning(pages: dict[str, Snapshot]) -> None:
    assert select(f"id:{pages['pear'].pk}", EVERYTHING).get() == pages["pear"]
    assert select(f"crawl:{str(pages['pear'].crawl_id)[:12]}", EVERYTHING).count() == 3


def test_what_was_removed_is_not_among_what_others_may_see(pages: dict[str, Snapshot]) -> None:
    assert not select("is:removed", EVERYTHING, removed=False).exists()
    assert pages


def test_pages_that_were_never_begun_are_found_where_they_are_asked_for(pages: dict[str, Snapshot]) -> None:
    arrange(Snapshot.objects.filter(pk__in=[pages["pear"].pk, pages["plum"].pk]), status="cancelled")
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
        ("host:a.example", "snapshot_of_host"), ("type:pdf", "snapshot_of_type"),
        ("url:https://a.example/", "snapshot_url"), ("url:https://a.example/*", "snapshot_url"),
        ("is:failed", "result_failed"), ("reason:timeout", "result_failed_for"),
        ("plugin:wget status:failed", "result_failed_in"), ("plugin:wget", "result_kept_by"),
        ("status:paused", "snapshot_unsealed"), ("is:open", "snapshot_unsealed"),
        ("quality:<80", "snapshot_of_quality"), ("is:lossy", "snapshot_lossy"), ("", "snapshot_in_library"),
        ("is:unfetched", "snapshot_cancelled"), ("is:cancelled", "snapshot_cancelled"),
        ("status:cancelled", "snapshot_cancelled"), ("is:removed", "snapshot_removed"), ("is:seed", "snapshot_seed"),
    ],
)  # fmt: skip
@pytest.mark.once
def test_rare_pages_are_found_by_an_index_whoever_asks(query: str, index: str) -> None:
    assert connection.vendor == "sqlite"
    for scope in SIGHTS:
        expected = "snapshot_public" if not query and scope == ViewerScope() else index
        assert expected in select(query, scope).order_by("-pk")[:51].explain(), scope


@pytest.mark.parametrize(
    "query",
    ["#to-read", "-is:failed", "is:complete", "plugin:wget or #fruit", "quality:<90", "url:https://a.example/*"],
)
@pytest.mark.parametrize("order", [NEWEST, Order()])
def test_a_list_is_the_same_wherever_it_is_looked_for_first(
    pages: dict[str, Snapshot], query: str, order: Order
) -> None:
    meant = chosen(query, EVERYTHING)
    expected = list(order.sort(meant.rows, backwards=False))
    assert meant.has_lists

    def page(place: PageCursor, most: int) -> PageOfRows[Snapshot]:
        return page_near(meant.ahead(place, order), meant.within, place, 1, order, most=most)

    for most in (1, 2, 10):
        found: list[Snapshot] = []
        place: PageCursor | None = PageCursor()
        while place is not None:
            here = page(place, most)
            found += here.rows
            place = PageCursor(before=here.older) if here.older else None
        assert found == expected
        assert [page(PageCursor(after=row.pk), most).rows for row in expected[1:]] == [[row] for row in expected[:-1]]
    above = pages["pear"].pk
    assert page_found(meant, PageCursor(after=above), 5).rows == [
        row for row in meant.rows.order_by("-pk") if row.pk > above
    ]


@pytest.mark.once
def test_what_the_library_leaves_out_is_not_passed_over_where_it_is_asked_for(pages: dict[str, Snapshot]) -> None:
    arrange(Snapshot.objects.all(), status="cancelled", retired_at=None)
    Snapshot.objects.filter(pk__in=[pages["pear"].pk, pages["apple"].pk]).update(fence=1)
    meant = chosen("is:cancelled -#nothing", EVERYTHING)
    assert meant.has_lists
    assert page_near(meant.ahead(PageCursor(), NEWEST), meant.within, PageCursor(), 1, most=1).rows == [pages["fig"]]


@pytest.mark.once
def test_a_search_without_words_is_the_list_of_the_library_in_as_many_queries(pages: dict[str, Snapshot]) -> None:
    with CaptureQueriesContext(connection) as asked:
        found = find(chosen("-is:failed", EVERYTHING), 5)
        assert [(one.snapshot, one.matches, len(one.snapshot.tags.all())) for one in found] == [
            (pages["plum"], [], 1), (pages["apple"], [], 0)
        ]  # fmt: skip
    with CaptureQueriesContext(connection) as listed:
        page_found(chosen("-is:failed", EVERYTHING), PageCursor(), 5)
    assert len(asked) == len(listed) + 1


@pytest.mark.parametrize(
    ("query", "newest", "oldest"),
    [
        ("#to-read", "pear", "pear"),
        ("plugin:wget", "plum", "plum"),
        ("is:failed plugin:title", "pear", "pear"),
        ("plugin:wget or #to-read", "plum", "pear"),
        ("before:2000", None, None),
    ],
)
def test_a_list_is_looked_for_from_where_it_begins(
    pages: dict[str, Snapshot], query: str, newest: str | None, oldest: str | None
) -> None:
    for order, first in ((NEWEST, newest), (Order(), oldest)):
        ahead = order.sort(chosen(query, EVERYTHING).ahead(PageCursor(), order), backwards=False)
        assert ahead.first() == (pages[first] if first else None)


@pytest.mark.parametrize(
    ("query", "index"),
    [
        ("#to-read", "tagging_of_tag (tag_id=? AND snapshot_id>? AND snapshot_id<?)"),
        ("is:failed", "result_failed_of (snapshot_id>? AND snapshot_id<?)"),
        ("plugin:wget", "result_kept_by (plugin=? AND snapshot_id>? AND snapshot_id<?)"),
        ("quality:<80", "snapshot_in_library (id>? AND id<?)"),
        ("url:https://a.example/*", "snapshot_in_library (id>? AND id<?)"),
    ],
)
@pytest.mark.once
def test_of_what_an_index_lists_only_what_is_near_is_looked_at(
    pages: dict[str, Snapshot], query: str, index: str
) -> None:
    rows = chosen(query, EVERYTHING).within(pages["apple"].pk, pages["plum"].pk)
    assert index in rows.order_by("-pk")[:61].explain()


@pytest.mark.once
def test_lists_are_read_in_their_order_from_an_index_whoever_asks(pages: dict[str, Snapshot]) -> None:
    a_crawl = f"crawl:{pages['pear'].crawl_id}"
    unfetched = f"is:unfetched {a_crawl}"
    simple = ("", "host:a.example", "type:pdf", "quality:100", "is:private", "is:public", "after:2026")
    for query in (*simple, a_crawl, unfetched):
        for scope in SIGHTS:
            assert "TEMP B-TREE" not in select(query, scope).order_by("-pk")[:51].explain(), (query, scope)
    for column, index in (("domain", "snapshot_of_host"), ("quality", "snapshot_of_quality")):
        for scope in SIGHTS:
            plan = select("", scope).measured().order_by(column, "pk")[:61].explain()
            assert index in plan, scope
            assert "TEMP B-TREE" not in plan


@pytest.mark.database
def test_of_cancelled_pages_no_row_is_read_for_those_that_were_begun() -> None:
    rows = Snapshot.objects.in_library().in_status("cancelled").order_by("-pk").values("pk")
    if connection.vendor == "sqlite":
        assert "snapshot_cancelled" in rows.explain()
        return
    with transaction.atomic(), connection.cursor() as cursor:  # of a table without rows it takes any index
        cursor.execute(
            "DROP INDEX snapshot_in_library; SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off"
        )
        assert "Index Only Scan Backward using snapshot_cancelled" in rows.explain()
        transaction.set_rollback(True)


@pytest.mark.once
def test_states_are_counted_by_their_own_index_whoever_asks() -> None:
    for query, index in (
        ("is:open", "snapshot_unsealed"),
        ("is:paused", "snapshot_unsealed"),
        ("is:seed", "snapshot_seed"),
    ):
        for scope in SIGHTS:
            with CaptureQueriesContext(connection) as asked, connection.cursor() as cursor:
                count_of(query, scope)
                cursor.execute(f"EXPLAIN QUERY PLAN {asked[-1]['sql']}")
                assert index in str(cursor.fetchall()), (query, scope)


@pytest.mark.once
def test_the_other_versions_of_what_is_shown_are_found_by_their_url_whoever_asks() -> None:
    for scope in SIGHTS:
        rows = seen_by(scope, Snapshot.objects.in_library())
        assert "snapshot_url" in rows.filter(url__in=["a", "b"]).order_by().explain(), scope
        assert "snapshot_url" in select("is:latest", scope).order_by("-pk")[:51].explain(), scope


@pytest.mark.once
def test_what_others_hide_takes_no_room_among_the_best(
    pages: dict[str, Snapshot], monkeypatch: pytest.MonkeyPatch
) -> None:
    Snapshot.objects.filter(pk=pages["pear"].pk).update(visibility="private")
    hits = [SearchHit(pages[name].pk, "htmltotext", "text.txt") for name in ("pear", "plum")]
    asked: list[tuple[tuple[str, ...], int]] = []

    class Engine:
        def query(self, questions: list[tuple[tuple[str, ...], int]]) -> list[list[SearchHit]]:
            asked.extend(questions)
            return [hits[:most] for _, most in questions]

    monkeypatch.setattr(selection, "chosen_backend", Engine)
    monkeypatch.setattr(selection, "MOST_HITS", 1)
    assert select("text:x", EVERYTHING).get() == pages["pear"]
    assert select("text:x", ViewerScope(0)).get() == pages["plum"]
    assert asked == [(("x",), 1), (("x",), 1), (("x",), selection.ALL_HITS)]


def test_all_that_have_common_words_in_a_text_is_refused_where_they_are_too_many() -> None:
    assert list(select("word", EVERYTHING, every=True)) == []
    with pytest.raises(QueryError, match="not a key"):
        select("ripe colour:red", EVERYTHING)
