"""The page of a snapshot whose files are in an object store."""

import shutil
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client

from archivebox.core.models import Snapshot
from tests.stored_pages import stored
from tests.webserver.markup import page_of

pytestmark = [pytest.mark.usefixtures("pages", "collection"), pytest.mark.once]


@pytest.fixture
def client() -> Client:
    client = Client(SERVER_NAME="localhost")
    client.force_login(User.objects.create_superuser("ada", password="correct horse battery"))
    return client


@pytest.fixture
def page(store: Path) -> Snapshot:
    """It is in the store alone."""
    assert store.is_dir()
    page = stored()
    shutil.rmtree(page.path)
    return page


def test_a_page_whose_store_does_not_answer_is_a_503(client: Client, page: Snapshot, store: Path) -> None:
    store.rename(store.with_name("aside"))
    answer = client.get(f"/snapshots/{page.pk}/")
    assert (answer.status_code, answer["Retry-After"]) == (503, "30")
    shown = page_of(answer)
    assert "an object store that does not answer. Try again later." in shown
    assert str(store) not in shown, "the place of the store is nobody's business"
    for address in ("/", f"/crawls/{page.crawl_id}/"):
        assert client.get(address).status_code == 200, address
    store.with_name("aside").rename(store)
    assert client.get(f"/snapshots/{page.pk}/").status_code == 200


def test_a_page_of_a_picture_is_shown_without_fetching_it(client: Client, page: Snapshot) -> None:
    Snapshot.objects.filter(pk=page.pk).update(mime_type="image/png")
    assert client.get(f"/snapshots/{page.pk}/").status_code == 200
    assert not page.path.exists()
    Snapshot.objects.filter(pk=page.pk).update(mime_type="text/html")
    assert client.get(f"/snapshots/{page.pk}/").status_code == 200
    assert page.path.is_dir(), "it is replayed"
