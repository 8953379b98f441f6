"""What people do to a crawl from its page: patterns are tried on its queue first, and hold from then on."""

import re

import pytest
from django.contrib.auth.models import User
from django.template.loader import render_to_string
from django.test import Client

from archivebox.base_models.visibility import EVERYTHING
from archivebox.core.models import Snapshot
from archivebox.core.progress.crawl_progress import progress_of
from tests import factories
from tests.status_triggers import arrange
from tests.webserver.markup import page_of

pytestmark = pytest.mark.usefixtures("pages", "collection")
URLS = ["https://a.example/one", "https://a.example/tag/two", "https://a.example/tag/three"]


@pytest.fixture
def client() -> Client:
    client = Client(SERVER_NAME="localhost")
    client.force_login(User.objects.create_superuser("ada", password="correct horse battery"))
    return client


def open_urls() -> set[str]:
    return set(Snapshot.objects.filter(status__in=Snapshot.OPEN).values_list("url", flat=True))


def test_pages_that_a_pattern_excludes_are_struck_through_and_released_by_it(client: Client) -> None:
    path = f"/crawls/{factories.crawl(*URLS).pk}/"
    tried = page_of(client.get(f"{path}?show=queue&deny=/tag/"))
    assert set(re.findall(r"<s>([^<]+)</s>", tried)) == set(URLS[1:])
    assert "<b>2</b> of these 3 would be skipped" in tried
    assert "/tag/</textarea>" in tried, "what was typed is still there"
    assert open_urls() == set(URLS), "it was only tried"
    reader = Client(SERVER_NAME="localhost")
    reader.force_login(User.objects.create_user("reader"))
    assert "<s>" not in page_of(reader.get(f"{path}?show=queue&deny=/tag/")), "who does not steer tries none"

    assert client.post(f"{path}patterns/", {"deny": "/tag/"}).headers["location"] == f"{path}?show=queue"
    assert open_urls() == {URLS[0]}
    assert "2 pages excluded" in page_of(client.get(f"{path}?show=queue"))


def test_one_url_of_the_queue_is_left_out_by_itself(client: Client) -> None:
    path = f"/crawls/{factories.crawl(*URLS).pk}/"
    client.post(f"{path}patterns/", {"exclude": URLS[1]})
    assert open_urls() == {URLS[0], URLS[2]}


def test_what_an_action_would_do_is_told_by_the_part_that_follows_the_counts(client: Client) -> None:
    crawl = factories.crawl(*URLS)
    page = page_of(client.get(f"/crawls/{crawl.pk}/"))
    counts = render_to_string(
        "web/live/crawl_counts.html", {"crawl": crawl, "title": "x", "progress": progress_of(crawl, EVERYTHING)}
    )
    assert '<p class="foretold" id="what-cancel">Leaves 3 pages unfetched; keeps 0 pages.</p>' in counts
    for name in re.findall(r'aria-describedby="(what-[a-z]+)"', page):
        assert page.count(f'id="{name}"') == counts.count(f'id="{name}"') == 1


def test_a_crawl_that_is_done_shows_no_part_for_what_it_excluded(client: Client) -> None:
    crawl = factories.crawl(*URLS)
    client.post(f"/crawls/{crawl.pk}/patterns/", {"deny": "/tag/"})
    arrange(Snapshot.objects.filter(url=URLS[0]), status="sealed", retry_at=None, http_status=404)
    page = page_of(client.get(f"/crawls/{crawl.pk}/"))
    assert re.search(r'<progress class="progress" max="1" value="1"', page)
    assert 'title="The server answered 404">404<' in page


def test_what_cannot_hold_is_refused_in_a_sentence_and_changes_nothing(client: Client) -> None:
    path = f"/crawls/{factories.crawl(*URLS).pk}/"
    refused = client.post(f"{path}patterns/", {"deny": "("})
    assert refused.status_code == 422
    assert 'role="alert"' in page_of(refused)
    assert client.post(f"{path}limits/", {"max_depth": "-1"}).status_code == 422
    assert client.post(f"{path}do/", {"change": "fly"}).status_code == 404
    assert open_urls() == set(URLS)
