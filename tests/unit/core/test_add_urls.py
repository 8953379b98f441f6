import base64
import random
from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from archivebox.base_models.users import system_user
from archivebox.config.core import CORE_SETTINGS
from archivebox.config.resolve import Layer, SettingError
from archivebox.contract.schema import Scope
from archivebox.core.intake.add_urls import add_found_urls, check_seeds, create_crawl
from archivebox.core.intake.parse_input import parse
from archivebox.core.intake.request import OPERATOR, CrawlRequest, RequestRefusedError, Seed
from archivebox.core.models import Snapshot, Tag
from archivebox.crawls.models import Crawl
from archivebox.hooks import base_layers, known_settings, resolve_settings
from archivebox.lib.egress import Endpoint
from archivebox.lib.jsonl import JSON
from archivebox.workers.egress.policies import is_named
from tests.factories import crawl, snapshot

pytestmark = pytest.mark.usefixtures("collection")


def take(page: Snapshot, *urls: str, **more: JSON) -> tuple[int, dict[str, int]]:
    found = add_found_urls(page, [{"url": url, **more} for url in urls])
    return found.taken, found.refused


class TestBadInput:
    @pytest.mark.parametrize(
        "text",
        [
            "not-a-url", "", "javascript:alert(1)", "file:///etc/passwd", "data:text/html,x", "--version", "-rf",
            "https://exam\0ple.com/", "https://example.com/\x1b[31m", "https://user:secret@example.com/",
            "example.com:8000/x", "https://" + "a" * 3000,
        ],
    )  # fmt: skip
    def test_gets_a_sentence(self, text: str) -> None:
        seeds, (refusal,) = check_seeds(["https://example.com/", text], resolve_settings(base_layers()))
        assert [seed.url for seed in seeds] == ["https://example.com/"]
        assert (refusal.line, refusal.code != "") == (2, True)
        assert len(refusal.text) <= 200
        assert refusal.sentence.endswith((".", "?"))
        assert "secret" not in refusal.sentence
        assert "\x1b" not in refusal.sentence

    def test_valid_lines_are_taken_once_and_written_one_way(self) -> None:
        texts: list[str | Seed] = [
            "HTTPS://Example.com",
            "https://example.com/",
            Seed("https://example.com/#top", "T", ("a",)),
        ]
        seeds, refusals = check_seeds(texts, resolve_settings(base_layers()))
        assert [seed.url for seed in seeds] == ["https://example.com/", "https://example.com/#top"]
        assert (seeds[1].title, seeds[1].tags, refusals) == ("T", ("a",), [])


def test_signed_addresses_of_8000_characters_are_kept_apart_and_found() -> None:
    """Of letters that no database can make shorter, the same but for the last one."""
    signed = "https://a.test/?s=" + base64.urlsafe_b64encode(random.Random(1).randbytes(5_980)).decode()
    given = [f"{signed}{letter}" for letter in "ab"]
    seeds, refusals = check_seeds(given, resolve_settings(base_layers()))
    create_crawl(seeds, created_by=system_user())
    assert (len(given[0]) > 7_990, refusals, Snapshot.objects.of_url(given[1]).count()) == (True, [], 1)
    with pytest.raises(IntegrityError), transaction.atomic():
        Snapshot.plan(crawl=Crawl.objects.get(), url=given[0], username="system", now=timezone.now()).save(
            force_insert=True
        )


class TestCreateCrawl:
    def test_one_crawl_with_its_snapshots(self) -> None:
        anna = User.objects.create(username="anna")
        seeds = [Seed("https://a.example/", "A", ("x",)), Seed("https://b.example/")]
        one = create_crawl(
            seeds, CrawlRequest(depth=2, tags=["t", "U"], config={"TIMEOUT": 9}, label="L"), created_by=anna
        )
        kept = Crawl.objects.get(pk=one.pk)
        assert (kept.status, kept.max_depth, kept.label, kept.config) == ("queued", 2, "L", {"TIMEOUT": 9})
        assert kept.retry_at is not None
        assert (kept.urls, kept.tags_str) == ("https://a.example/\nhttps://b.example/", "t,U")
        pages = {page.url: page for page in kept.snapshot_set.all()}
        assert set(pages) == {seed.url for seed in seeds}
        assert {page.created_by for page in pages.values()} == {anna}
        assert {page.depth for page in pages.values()} == {0}
        assert {page.status for page in pages.values()} == {"queued"}
        assert pages["https://a.example/"].title == "A"
        assert sorted(tag.name for tag in pages["https://a.example/"].tags.all()) == ["U", "t", "x"]
        assert sorted(tag.name for tag in pages["https://b.example/"].tags.all()) == ["U", "t"]
        assert "/anna/" in pages["https://b.example/"].output_dir

    def test_a_failure_in_the_middle_leaves_nothing(self) -> None:
        seeds = [Seed(f"https://example.com/{number}") for number in range(1500)]
        with pytest.raises(IntegrityError), transaction.atomic():
            create_crawl(
                [*seeds, seeds[0]], CrawlRequest(tags=["t"]), created_by=system_user()
            )  # one URL twice: refused by the database
        assert Crawl.objects.count() == 0
        assert Snapshot.objects.count() == 0
        assert Tag.objects.count() == 0

    def test_held_ones_are_on_record_and_wait(self) -> None:
        one = crawl(hold=True)
        assert (one.status, one.retry_at) == ("paused", None)
        assert one.snapshot_set.count() == 1

    def test_ten_thousand_seeds_are_a_few_statements(self) -> None:
        seeds = [Seed(f"https://host-{number % 100}.example/{number}") for number in range(10_000)]
        user = system_user()
        statements: list[str] = []

        def note(execute, sql, params, many, context):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
            statements.append(sql)
            return execute(sql, params, many, context)

        with connection.execute_wrapper(note):
            one = create_crawl(seeds, created_by=user)
        assert one.snapshot_set.count() == 10_000
        assert len(statements) < 400  # Django gives SQLite 999 values a statement
        assert len(one.urls) <= 65_536

    def test_the_bell_rings_after_the_commit(self, django_capture_on_commit_callbacks: object) -> None:
        with django_capture_on_commit_callbacks() as callbacks:  # type: ignore[operator]
            crawl()
        assert len(callbacks) == 1


class TestFound:
    def test_depth_and_lineage(self) -> None:
        page = snapshot(max_depth=1)
        assert take(page, "https://example.com/a", "https://b.example/", bookmarked_at="2023-11-14") == (2, {})
        child = Snapshot.objects.get(url="https://b.example/")
        assert (child.depth, child.parent_snapshot, child.created_by) == (1, page, page.created_by)
        assert child.bookmarked_at == datetime(2023, 11, 14, tzinfo=UTC)
        assert take(child, "https://c.example/") == (0, {"too_deep": 1})
        assert take(page, "https://d.example/", depth=2) == (0, {"too_deep": 1})

    @pytest.mark.parametrize("depth", [0, -5, True, "x", None])
    def test_no_hook_leads_a_crawl_on_for_ever(self, depth: JSON) -> None:
        page = snapshot(max_depth=1)
        assert take(page, "https://a.example/", depth=depth) == (1, {})
        child = Snapshot.objects.get(url="https://a.example/")
        assert child.depth == 1
        assert take(child, "https://b.example/", depth=depth) == (0, {"too_deep": 1})

    def test_what_the_crawl_has_is_not_taken_twice(self) -> None:
        page = snapshot(max_depth=1)
        assert take(page, page.url, f"{page.url}#top", "https://example.com/a#1", "https://example.com/a#2") == (1, {})
        assert take(page, "https://example.com/a") == (0, {})
        other = snapshot(max_depth=1)
        assert take(other, "https://example.com/a") == (1, {})

    @pytest.mark.parametrize(
        ("scope", "taken"),
        [
            ("page", set()),
            ("host", {"https://www.example.com/1"}),
            ("domain", {"https://www.example.com/1", "https://img.example.com/2"}),
            ("all", {"https://www.example.com/1", "https://img.example.com/2", "https://other.example/3"}),
        ],
    )
    def test_scope(self, scope: str, taken: set[str]) -> None:
        page = snapshot("https://www.example.com/", max_depth=1, config={"URL_SCOPE": scope})
        take(page, "https://www.example.com/1", "https://img.example.com/2", "https://other.example/3")
        assert set(page.outlinks.values_list("url", flat=True)) == taken

    def test_scope_knows_every_seed_of_a_long_list(self) -> None:
        one = crawl(
            *(f"https://host-{n}.example/{'x' * 60}" for n in range(1500)), max_depth=1, config={"URL_SCOPE": "host"}
        )
        page = one.snapshot_set.get(domain="host-1400.example")
        assert take(page, "https://host-1400.example/a", "https://host-1.example/b", "https://c.example/") == (
            2,
            {"out_of_scope": 1},
        )

    def test_lists_and_limits(self) -> None:
        page = snapshot(
            max_depth=1, config={"URL_DENYLIST": "logout\n\\.exe$", "URL_ALLOWLIST": "example", "MAX_URLS": 3}
        )
        urls = [
            "https://example.com/logout",
            "https://other.org/",
            "https://example.com/1",
            "https://example.com/2",
            "https://example.com/3",
        ]
        taken, refused = take(page, *urls)
        assert (taken, refused) == (2, {"denied": 1, "not_allowed": 1, "limit_reached": 1})

    def test_a_crawl_whose_lists_cannot_be_understood_is_not_begun(self) -> None:
        with pytest.raises(SettingError, match="not a regular expression"):
            snapshot(max_depth=1, config={"URL_ALLOWLIST": "(?!login)"})
        assert not Crawl.objects.exists()

    def test_every_page_that_is_found_gets_the_tags_of_the_crawl_that_are_still_there(self) -> None:
        seeds = [Seed("https://example.com/")]
        made = create_crawl(seeds, CrawlRequest(depth=2, tags=["News", "Deleted"]), created_by=system_user())
        Tag.objects.get(name="Deleted").delete()
        take(made.snapshot_set.get(), "https://example.com/a", "https://example.com/b", tags="Own, news")
        take(made.snapshot_set.get(url="https://example.com/a"), "https://example.com/a/deeper")
        tags = {page.url: {tag.name for tag in page.tags.all()} for page in made.snapshot_set.filter(depth__gt=0)}
        assert tags == {
            "https://example.com/a": {"News", "Own"},
            "https://example.com/b": {"News", "Own"},
            "https://example.com/a/deeper": {"News"},
        }
        assert not Tag.objects.filter(name="Deleted").exists()

    def test_no_url_at_all(self) -> None:
        page = snapshot(max_depth=1)
        assert take(page, "", "javascript:x", "mailto:a@b.c") == (0, {"bad_url": 1, "scheme_refused": 2})
        assert add_found_urls(page, [{}]).refused == {"bad_url": 1}

    def test_the_crawl_wants_a_look(self) -> None:
        page = snapshot(max_depth=1)
        Crawl.objects.update(retry_at=None)
        take(page, page.url)
        assert Crawl.objects.get().retry_at is None
        take(page, "https://example.com/a")
        assert Crawl.objects.get().retry_at is not None


class TestPrivateNetworks:
    METADATA = "http://169.254.169.254/latest/meta-data/"

    def test_are_not_reached_by_links_of_a_page(self) -> None:
        page = snapshot(max_depth=1)
        taken, refused = take(page, self.METADATA, "http://127.0.0.1:8000/admin/", "http://[::ffff:10.0.0.1]/")
        assert (taken, refused) == (0, {"private_address": 3})

    def test_are_reached_where_the_operator_named_host_and_port(self) -> None:
        seeds, _ = check_seeds(["http://127.0.0.1:8123/"], resolve_settings(base_layers()))
        made = create_crawl(seeds, CrawlRequest(depth=2), created_by=system_user(), may_name_private=True)
        page = Snapshot.objects.get(crawl=made)
        taken, refused = take(page, "http://127.0.0.1:8123/next", "http://127.0.0.1:8124/", "http://127.0.0.2:8123/")
        assert (taken, refused) == (1, {"private_address": 2})
        assert take(Snapshot.objects.get(url="http://127.0.0.1:8123/next"), "http://127.0.0.1:8123/x")[0] == 1

    def test_a_host_that_a_page_linked_to_is_not_named_by_that(self) -> None:
        made = crawl(max_depth=2, config={"PRIVATE_NETWORK_ALLOWLIST": ["10.0.0.5:80"]})
        page = Snapshot.objects.get(crawl=made)
        assert take(page, "http://10.0.0.5/")[0] == 1
        Crawl.objects.filter(pk=made.pk).update(config={})
        assert take(Snapshot.objects.get(pk=page.pk), "http://10.0.0.5/other")[0] == 0

    @pytest.mark.parametrize("host", ["10.0.0.5_8000", "169.254.169.254_80"])
    def test_are_not_named_by_a_host_that_is_only_called_like_one_with_its_port(self, host: str) -> None:
        seeds, _ = check_seeds([f"http://{host}/"], resolve_settings(base_layers()), may_name_private=False)
        made = create_crawl(seeds, CrawlRequest(depth=1), created_by=system_user(), may_name_private=True)
        private = Endpoint(host.partition("_")[0], int(host.partition("_")[2]))
        assert take(Snapshot.objects.get(crawl=made), f"http://{private}/", f"https://{private}/")[0] == 0
        assert not is_named(made.pk, private)
        other = crawl(f"https://{private}/")
        assert is_named(other.pk, private)

    def test_are_opened_by_a_setting(self) -> None:
        made = crawl(max_depth=1, config={"PRIVATE_NETWORK_ALLOWLIST": ["10.0.0.0/8", "nas.local"]})
        page = Snapshot.objects.get(crawl=made)
        taken, refused = take(page, "http://10.9.8.7:81/", "https://nas.local/", "http://192.168.0.1/")
        assert (taken, refused) == (2, {"private_address": 1})

    def test_are_not_named_by_who_may_not(self) -> None:
        given = ["http://10.0.0.5/", "https://no-such-name.invalid/", self.METADATA, "http://localhost:8000/x"]
        seeds, refusals = check_seeds(given, resolve_settings(base_layers()), may_name_private=False)
        assert [seed.url for seed in seeds] == ["https://no-such-name.invalid/"]
        assert [(refusal.line, refusal.code) for refusal in refusals] == [(n, "private_address") for n in (1, 3, 4)]
        assert "private network" in refusals[0].sentence

    def test_a_bad_entry_is_said_to_whoever_adds(self) -> None:
        settings = resolve_settings(
            [*base_layers(), Layer("environment", {"PRIVATE_NETWORK_ALLOWLIST": ["10.0.0.0/99"]})]
        )
        with pytest.raises(SettingError, match=r"10\.0\.0\.0/99.*PRIVATE_NETWORK_ALLOWLIST in the environment"):
            check_seeds(["https://example.com/"], settings)


def refusal_of(config: dict[str, JSON]) -> str:
    try:
        parse(CrawlRequest(urls=["https://example.com/"], config=config), OPERATOR)
    except RequestRefusedError as error:
        return f"{error.field}: {error}"
    return ""


def test_a_crawl_takes_just_those_settings_that_have_an_effect_on_it() -> None:
    for name, spec in known_settings().items():
        expected = f"config: {spec.refusal_for_crawl}" if spec.scope is not Scope.CRAWL else ""
        assert refusal_of({name: spec.default}) == expected
    where = "set it with `archivebox config set WORKERS=…`."
    assert refusal_of({"WORKERS": 2}) == f"config: WORKERS is a setting of this machine: {where}"
    ignored = {"STOP_GRACE", "WORKERS", "STORAGE_URL", "MACHINE_ID", "DISK_FREE_MIN", "BIND_ADDR", "LIB_DIR"}
    assert ignored <= {name for name, spec in CORE_SETTINGS.items() if spec.scope is not Scope.CRAWL}
