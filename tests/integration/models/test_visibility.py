"""Who sees which rows: the one condition, and how pages come by their visibility."""

import pytest
from django.contrib.auth.models import AnonymousUser, User

from archivebox.accounts.permission import viewer_scope, visible_snapshots
from archivebox.accounts.roles import Account
from archivebox.accounts.tokens import Token
from archivebox.base_models.users import system_user
from archivebox.base_models.visibility import EVERYTHING, ViewerScope, hidden_from, seen_by
from archivebox.config.settings import DATA_FOLDER
from archivebox.core.intake.add_urls import add_found_urls
from archivebox.core.intake.recapture import add_versions, recapture
from archivebox.core.models import Snapshot
from archivebox.crawls.models import Crawl
from tests.factories import crawl

pytestmark = [pytest.mark.usefixtures("collection"), pytest.mark.database]


def person(name: str, role: str) -> User:
    user = User.objects.create_user(name, is_superuser=role == "admin")
    Account.objects.create(user=user, role=role)
    return user


def seen(scope: ViewerScope) -> set[str]:
    return set(seen_by(scope, Snapshot.objects.all()).values_list("visibility", flat=True))


def test_everybody_sees_what_is_for_them_and_nobody_more() -> None:
    owner, other, admin = person("owner", "editor"), person("other", "editor"), person("admin", "admin")
    for choice in ("public", "members", "private"):
        crawl(f"https://{choice}.example/", user=owner, visibility=choice)
    assert seen(viewer_scope(AnonymousUser())) == {"public"}
    assert seen(viewer_scope(other)) == {"public", "members"}
    assert (
        seen(viewer_scope(owner))
        == seen(viewer_scope(admin))
        == seen(viewer_scope(system_user()))
        == {"public", "members", "private"}
    )
    assert {page.visibility for page in hidden_from(viewer_scope(other), Snapshot.objects.all())} == {"private"}
    assert not hidden_from(EVERYTHING, Snapshot.objects.all()).exists()
    reads = Token(user=admin, scopes=["read"])
    assert set(visible_snapshots(reads).values_list("visibility", flat=True)) == {"public", "members"}
    assert visible_snapshots(Token(user=admin, scopes=["admin"])).count() == 3


def test_pages_have_the_visibility_of_their_crawl_unless_a_person_sets_it() -> None:
    assert crawl("https://a.example/").snapshot_set.get().visibility == "members"
    DATA_FOLDER.conf.write_text("[SERVER_CONFIG]\nVISIBILITY = private\n")
    made = crawl("https://b.example/")
    assert (made.visibility, made.snapshot_set.get().visibility) == ("private", "private")
    assert crawl("https://c.example/", config={"VISIBILITY": "public"}).visibility == "public"
    assert crawl("https://d.example/", visibility="members").snapshot_set.get().visibility == "members"


def test_what_a_page_links_to_is_seen_as_its_crawl_is_by_now() -> None:
    parent = crawl(max_depth=1).snapshot_set.get()
    assert parent.crawl.visibility == "members"
    Crawl.objects.update(visibility="private")  # while the worker has its row from before
    add_found_urls(parent, [{"url": "https://example.com/found"}])
    assert Snapshot.objects.get(url="https://example.com/found").visibility == "private"


def test_a_new_version_is_seen_by_no_more_than_the_one_before() -> None:
    owner = person("owner", "editor")
    for choice in ("members", "private"):
        crawl(f"https://{choice}.example/", user=owner, visibility=choice)
    again = recapture(Snapshot.objects.filter(visibility="members"), created_by=owner)
    assert again.visibility == "members"
    add_versions(again, Snapshot.objects.filter(visibility="private"))
    again.refresh_from_db()
    assert again.visibility == "private"
    assert {page.url: page.visibility for page in again.snapshot_set.all()} == {
        "https://members.example/": "members",
        "https://private.example/": "private",
    }
