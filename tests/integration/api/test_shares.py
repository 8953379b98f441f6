"""Share links by the API: made, counted, revoked; their address is shown once."""

from urllib.parse import urlsplit

from archivebox.accounts.audit import AuditEntry
from archivebox.search.models import ShareLink
from tests import factories
from tests.integration.api.conftest import Caller, Make


def test_a_link_is_made_counted_and_revoked(caller: Make) -> None:
    admin, page = caller("admin"), factories.snapshot()
    made = admin.post("/api/v1/shares", {"snapshot_id": str(page.pk), "days": 7})
    path = urlsplit(made["link"]).path
    assert path.split("/")[2] not in str(vars(ShareLink.objects.get()))
    assert Caller().ask("GET", path).status_code == 200
    assert Caller().ask("HEAD", path).status_code == 200
    seen = admin.get(f"/api/v1/shares/{made['id']}")
    assert (seen["view_count"], seen["snapshot_id"], "link" in seen) == (1, str(page.pk), False)
    assert admin.ask("DELETE", f"/api/v1/shares/{made['id']}").status_code == 204
    assert Caller().ask("GET", path).status_code == 404
    assert admin.ask("DELETE", f"/api/v1/shares/{made['id']}").status_code == 409
    assert {"share.created", "share.revoked"} <= {*AuditEntry.objects.values_list("action", flat=True)}


def test_what_cannot_be_shared_says_why(caller: Make) -> None:
    editor, page = caller("editor"), factories.snapshot()
    refused = editor.post("/api/v1/shares", {"snapshot_id": str(page.pk)}, status=422)
    assert "Only its owner and administrators" in refused["detail"]
    search = caller("admin").post("/api/v1/searches", {"name": "all", "query": "is:done"})
    editor.post("/api/v1/shares", {"search_id": search["id"]}, status=404)
    assert "one of snapshot_id and search_id" in editor.post("/api/v1/shares", {}, status=422)["detail"]
    assert caller("admin").post("/api/v1/shares", {"search_id": search["id"]})["search_id"] == search["id"]


def test_links_of_others_are_for_administrators_alone(caller: Make) -> None:
    made = caller("admin").post("/api/v1/shares", {"snapshot_id": str(factories.snapshot().pk)})
    editor = caller("editor")
    assert editor.get("/api/v1/shares")["items"] == []
    assert editor.ask("DELETE", f"/api/v1/shares/{made['id']}").status_code == 404
