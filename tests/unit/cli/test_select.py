"""Rows are chosen by what people type; whatever cannot be understood is said, and nothing is chosen."""

from datetime import UTC, datetime, timedelta
from uuid import NAMESPACE_DNS, UUID, uuid5

import pytest
from django.utils import timezone

from archivebox.base_models.keylist import key_list
from archivebox.base_models.rows import new_id
from archivebox.base_models.users import system_user
from archivebox.base_models.visibility import EVERYTHING
from archivebox.cli.conditions import age, find, moment
from archivebox.cli.errors import BadInputError
from archivebox.cli.listing import PAGE, pages, record_of
from archivebox.cli.selection import find_snapshot, is_chosen, snapshots
from archivebox.core.intake.add_urls import create_crawl
from archivebox.core.intake.request import CrawlRequest, Seed
from archivebox.core.models import Snapshot
from archivebox.core.versions.url_versions import latest_versions, restore, retire
from archivebox.crawls.models import Crawl
from archivebox.machine.models import Machine
from archivebox.search.query.times import floor_of
from archivebox.storage.layout import DataFolder

A, B = "https://a.test/", "https://b.test:8000/x"


def crawl_of(*urls: str, **options: object) -> Crawl:
    request = CrawlRequest(**options)  # type: ignore[arg-type]
    return create_crawl([Seed(url) for url in urls], request, created_by=system_user())


def urls(*which: str, retired: bool = False, **where: str) -> set[str]:
    return set(snapshots(which=which, where=where, retired=retired).values_list("url", flat=True))


@pytest.mark.parametrize("text", ["", "7", "30 days", "-3d", "3x", "9" * 9 + "d"])
def test_what_is_no_age_is_refused(text: str) -> None:
    with pytest.raises(BadInputError, match="not a length of time"):
        age(text)


def test_times_are_dates_or_ages() -> None:
    assert age("90m") == timedelta(minutes=90)
    assert age("2W") == timedelta(weeks=2)
    assert moment("2026-01-31") == datetime(2026, 1, 31, tzinfo=UTC)
    assert moment("2026-01-31T12:00:00+02:00") == datetime(2026, 1, 31, 10, tzinfo=UTC)
    assert abs(moment("1d") - (timezone.now() - timedelta(days=1))) < timedelta(minutes=1)
    assert moment("1717243200.25") == datetime(2024, 6, 1, 12, 0, 0, 250_000, tzinfo=UTC)
    with pytest.raises(BadInputError, match="not a time"):
        moment("some day")


def test_the_floor_of_a_moment_is_below_every_key_made_then() -> None:
    before = timezone.now()
    key = new_id()
    assert floor_of(before) <= key < floor_of(before + timedelta(minutes=1))
    assert floor_of(datetime(1900, 1, 1, tzinfo=UTC)) == UUID(int=0)


def test_a_row_is_found_by_its_id_and_by_the_beginning_of_it(collection: DataFolder) -> None:
    crawl = crawl_of(A, B)
    assert collection.root.is_dir()
    assert find(Crawl, str(crawl.pk)) == crawl
    assert find(Crawl, crawl.pk.hex.upper()) == crawl
    assert find(Crawl, crawl.pk.hex[:8]) == crawl
    with pytest.raises(BadInputError, match="More than one snapshot"):
        find(Snapshot, Snapshot.objects.all()[0].pk.hex[:8])
    with pytest.raises(BadInputError, match="There is no crawl"):
        find(Crawl, "00000000")
    for text in ("zzz", "0123", "%" * 8, "0" * 33):
        with pytest.raises(BadInputError, match="not the id of a crawl"):
            find(Crawl, text)


def test_snapshots_are_chosen_by_every_option(collection: DataFolder) -> None:
    first = crawl_of(A, tags=["News"])
    second = crawl_of(B)
    assert collection.root.is_dir()
    assert urls() == {A, B}
    assert urls(A) == {A}
    assert urls(A, str(Snapshot.objects.get(url=B).pk)) == {A, B}
    assert urls(tag="news") == {A}
    assert urls(domain="B.test:8000") == {B}
    assert urls(domain="b.test") == {B}
    assert urls(domain="b.test:80") == set()
    assert urls(domain="test") == set()
    assert urls(status="sealed") == set()
    assert urls(crawl=str(second.pk)) == {B}
    assert urls(before="1h") == set()
    assert urls(after="1h") == {A, B}
    assert urls(crawl=str(first.pk), domain="b.test_8000") == set()
    with pytest.raises(BadInputError, match=r"no snapshot of https://c\.test/"):
        snapshots(which=("https://c.test",))
    assert is_chosen((), {"tag": "x"})
    assert not is_chosen((), {"tag": "", "query": ""})


def test_a_list_of_keys_is_one_parameter_however_long(collection: DataFolder) -> None:
    assert collection.root.is_dir()
    crawl_of(A, B)
    key = Snapshot.objects.get(url=A).pk
    many = [new_id() for _ in range(300_000)]
    assert list(Snapshot.objects.filter(pk__in=key_list([*many, key])).values_list("url", flat=True)) == [A]
    assert not Snapshot.objects.filter(pk__in=key_list([])).exists()


def test_versions_of_a_url_are_retired_and_come_back(collection: DataFolder) -> None:
    old, new = crawl_of(A, B), crawl_of(A)
    assert collection.root.is_dir()
    assert latest_versions([A, B, "https://c.test/"], EVERYTHING) == {
        A: Snapshot.objects.get(crawl=new).pk,
        B: Snapshot.objects.get(crawl=old, url=B).pk,
    }
    assert find_snapshot("https://A.test") == Snapshot.objects.get(crawl=new)
    assert retire(Snapshot.objects.filter(crawl=old, url=A)) == 1
    assert retire(Snapshot.objects.filter(crawl=old, url=A)) == 0  # and their time goes on
    assert urls(crawl=str(old.pk)) == {B}
    assert urls(retired=True) == {A}
    assert restore(snapshots(retired=True)) == 1
    assert retire(snapshots(which=(A,))) == 2
    assert latest_versions([A], EVERYTHING) == {}


def test_long_lists_come_in_pages_the_newest_first(collection: DataFolder) -> None:
    crawl_of(*(f"https://a.test/{number}" for number in range(PAGE + 3)))
    assert collection.root.is_dir()
    assert [len(page) for page in pages(Snapshot.objects.all())] == [PAGE, 3]
    assert [len(page) for page in pages(Snapshot.objects.all(), 7)] == [7]
    keys = [row.pk for page in pages(Snapshot.objects.all()) for row in page]
    assert keys == sorted(keys, reverse=True)


def test_a_record_has_the_columns_by_name_and_no_secret(collection: DataFolder) -> None:
    crawl = crawl_of(A, config={"TIMEOUT": 3, "DATABASE_URL": "postgres://key:hunter2@host/"})
    assert collection.root.is_dir()
    record = record_of(crawl, more=1)
    assert next(iter(record)) == "type"
    assert record["config"] == {"TIMEOUT": 3, "DATABASE_URL": "***"}
    assert (record["created_by_id"], record["more"]) == (crawl.created_by_id, 1)


def test_a_record_says_when_its_row_was_made_if_its_key_does(collection: DataFolder) -> None:
    crawl = crawl_of(A)
    assert collection.root.is_dir()
    assert record_of(crawl)["created_at"] == crawl.created_at
    assert record_of(Machine(pk=uuid5(NAMESPACE_DNS, "attic")))["created_at"] is None
