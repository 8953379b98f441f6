"""What the pages of the app say of scripts: that they can run, what they could do, or why they stay off."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from archivebox.core.models import Snapshot
from archivebox.replay.models import VIEWS_MOST, ScriptView, create_script_view, find_script_view
from archivebox.web import settings
from tests import factories
from tests.status_triggers import arrange
from tests.webserver.recording import Page, record

pytestmark = pytest.mark.usefixtures("pages", "collection")
URL = "https://example.org/page"


@pytest.fixture
def client() -> Client:
    client = Client(SERVER_NAME="localhost")
    client.force_login(User.objects.create_superuser("ada", password="correct horse battery"))
    return client


@pytest.fixture
def snapshot() -> Snapshot:
    found: Snapshot = factories.crawl(URL).snapshot_set.get()
    arrange(
        Snapshot.objects.filter(pk=found.pk),
        status="sealed",
        http_status=200,
        mime_type="text/html",
        retry_at=None,
        final_url=f"{URL}/deep?x=1",
    )
    found.refresh_from_db()
    record(found.path, {URL: Page(b"<p>Loading")})
    return found


def both_pages(client: Client, snapshot: Snapshot) -> list[str]:
    addresses = (f"/snapshots/{snapshot.pk}/?view=replay", f"/web/latest/{URL}")
    return [client.get(address, follow=True).content.decode() for address in addresses]


def test_beside_the_button_stands_what_scripts_could_do(client: Client, snapshot: Snapshot) -> None:
    for page in both_pages(client, snapshot):
        assert ">Run scripts<" in page
        assert "WebRTC" in page


def test_without_a_host_per_snapshot_scripts_stay_off_and_the_page_says_why(
    client: Client, snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "REPLAY_URL", "https://replay.example")
    for page in both_pages(client, snapshot):
        assert ">Run scripts<" not in page
        assert "https://*.archive.example" in page
    answer = client.post(f"/snapshots/{snapshot.pk}/?view=replay", {"scripts": "run"}).content.decode()
    assert "allow-scripts" not in answer
    assert not ScriptView.objects.exists()


def test_a_view_begins_only_with_the_replay_and_not_with_a_copy(client: Client, snapshot: Snapshot) -> None:
    client.post(f"/snapshots/{snapshot.pk}/?view=files", {"scripts": "run"})
    assert not ScriptView.objects.exists()
    shown = client.post(f"/snapshots/{snapshot.pk}/?view=replay", {"scripts": "run"}).content.decode()
    assert ScriptView.objects.get().url == URL
    assert "script_view.js" in shown
    assert "Stop scripts" in shown


def test_a_viewer_has_so_many_views_and_the_oldest_end(snapshot: Snapshot) -> None:
    labels = [create_script_view(snapshot, "viewer", URL)[1] for _ in range(VIEWS_MOST + 1)]
    other = create_script_view(snapshot, "other", URL)[1]
    assert [find_script_view(label) is not None for label in (*labels[:2], labels[-1], other)] == [
        False,
        True,
        True,
        True,
    ]
