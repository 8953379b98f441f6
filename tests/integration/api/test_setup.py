"""Tags, notes, files, plugins, settings and personas by the API; personas and machines on pages."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from archivebox.accounts.audit import AuditEntry
from archivebox.config.personas import Persona
from archivebox.config.settings import DATA_FOLDER
from archivebox.core.models import ArchiveResult, Tag
from archivebox.core.tags.assign_tags import tag
from archivebox.hooks.stored_settings import stored_settings
from archivebox.machine.models import Machine
from tests import factories
from tests.integration.api.conftest import Make

pytestmark = pytest.mark.usefixtures("collection")


def test_a_tag_is_renamed_and_merged(caller: Make) -> None:
    editor, page = caller("editor"), factories.snapshot()
    tag([page.pk], ["pears", "apples"])
    pears, apples = Tag.objects.get(slug="pears"), Tag.objects.get(slug="apples")
    renamed = editor.ask("PATCH", f"/api/v1/tags/{pears.pk}", {"name": "Quinces"})
    assert json.loads(renamed.content)["slug"] == "quinces"
    taken = editor.ask("PATCH", f"/api/v1/tags/{pears.pk}", {"name": "Apples"})
    assert (taken.status_code, str(apples.pk) in json.loads(taken.content)["detail"]) == (409, True)
    merged = editor.post(f"/api/v1/tags/{pears.pk}/merge", {"into": str(apples.pk)}, status=200)
    assert merged["name"] == "apples"
    assert [one.name for one in page.tags.all()] == ["apples"]
    editor.post(f"/api/v1/tags/{apples.pk}/merge", {"into": str(apples.pk)}, status=422)
    assert {"tag.renamed", "tag.merged"} <= {*AuditEntry.objects.values_list("action", flat=True)}


def test_notes_are_written_listed_found_and_removed_by_their_author(caller: Make) -> None:
    editor, page = caller("editor"), factories.snapshot()
    notes = f"/api/v1/snapshots/{page.pk}/notes"
    made = editor.post(notes, {"text": "Ripe in May"})
    assert made["author"] == "editor"
    assert [one["text"] for one in caller("viewer").get(notes)["items"]] == ["Ripe in May"]
    found = editor.get("/api/v1/snapshots?q=ripe")["items"][0]["match"]
    assert (found["where"], found["highlights"]) == ("note", [[0, 4]])
    assert caller("admin").ask("DELETE", f"{notes}/{made['id']}").status_code == 404
    assert editor.ask("DELETE", f"{notes}/{made['id']}").status_code == 204
    assert editor.get(notes)["items"] == []
    editor.post(notes, {"text": "  "}, status=422)


def test_files_are_listed_and_saved_and_never_drawn(caller: Make) -> None:
    viewer, page = caller("viewer"), factories.snapshot()
    (page.path / "dom").mkdir(parents=True)
    (page.path / "dom" / "output.html").write_text("<script>alert(1)</script>")
    (page.path / "dom" / "out").symlink_to("/etc")
    files = {"output.html": {"size": 25, "mimetype": "text/html"}}
    ArchiveResult.objects.create(snapshot=page, plugin="dom", status="succeeded", output_files=files)
    listed = viewer.get(f"/api/v1/snapshots/{page.pk}/files")["items"]
    assert listed == [{"path": "dom/output.html", "size": 25, "mimetype": "text/html"}]
    file = viewer.ask("GET", f"/api/v1/snapshots/{page.pk}/files/dom/output.html")
    assert b"".join(file) == b"<script>alert(1)</script>"
    assert file["Content-Type"] == "application/octet-stream"
    assert file["Content-Disposition"].startswith("attachment")
    assert "sandbox" in file["Content-Security-Policy"]
    for wrong in ("dom/out/passwd", "dom", "dom/../../x", "%2e%2e/x", ".hooks/x"):
        assert viewer.ask("GET", f"/api/v1/snapshots/{page.pk}/files/{wrong}").status_code == 404, wrong


def test_settings_are_read_without_secrets_and_those_naming_programs_not_changed(caller: Make) -> None:
    admin = caller("admin")
    changed = admin.ask("PATCH", "/api/v1/settings", {"changes": {"TIMEOUT": 90, "SAVE_WGET": "false"}})
    assert changed.status_code == 200, changed.content
    assert stored_settings() == {"TIMEOUT": "90", "WGET_ENABLED": "false"}
    assert admin.get("/api/v1/settings/TIMEOUT")["value"] == 90
    assert admin.get("/api/v1/plugins/wget")["enabled"] is False
    for changes in (
        {"WGET_BINARY": "/bin/sh"},
        {"TIMEOUT": "soon"},
        {"NO_SUCH": 1},
        {"TIMEOUT": 1, "DATABASE_URL": "x"},
    ):
        assert admin.ask("PATCH", "/api/v1/settings", {"changes": changes}).status_code == 422, changes
    assert admin.ask("PATCH", "/api/v1/settings", {"changes": {"TIMEOUT": None}}).status_code == 200
    assert stored_settings() == {"WGET_ENABLED": "false"}
    secret = next(one for one in admin.get("/api/v1/settings")["items"] if one["is_secret"])
    assert secret["value"] in (True, False)


def test_personas_and_machines_are_seen_by_those_who_may_inspect(caller: Make) -> None:
    persona = Persona(DATA_FOLDER.persona("Reader"))
    DATA_FOLDER.personas.mkdir(exist_ok=True)
    persona.create({"USER_AGENT": "Secret/1.0"})
    persona.share(["eve"])
    editor, machine = caller("editor"), Machine.current()
    assert editor.get("/api/v1/personas")["items"][1:] == [
        {"name": "Reader", "settings": ["USER_AGENT"], "cookies": False, "users": ["eve"], "profile": False}
    ]
    assert editor.ask("GET", "/api/v1/personas/Nobody").status_code == 404
    for page in ("/personas/", "/personas/Reader/", "/machines/", f"/machines/{machine.pk}/"):
        shown = editor.ask("GET", page).content.decode()
        assert ("Reader" if "persona" in page else machine.hostname) in shown
        assert "Secret/1.0" not in shown


def test_an_administrator_drains_resumes_and_removes_a_machine_that_is_gone(caller: Make) -> None:
    admin, here = caller("admin", "admin"), Machine.current()
    lost = Machine.objects.create(hostname="attic", seen_at=timezone.now() - timedelta(hours=1))
    admin.post(f"/api/v1/machines/{here.pk}/drain", {"within": False}, status=422)
    assert admin.ask("TRACE", "/api/v1/machines?trace=1").status_code == 405
    assert admin.post(f"/api/v1/machines/{here.pk}/drain", {"within": 60}, status=200)["state"] == "draining"
    assert admin.post(f"/api/v1/machines/{here.pk}/resume", {}, status=200)["drain_by"] is None
    assert admin.ask("DELETE", f"/api/v1/machines/{here.pk}").status_code == 409
    assert admin.ask("DELETE", f"/api/v1/machines/{lost.pk}").status_code == 204
    assert [row["id"] for row in admin.get("/api/v1/machines")["items"]] == [str(here.pk)]
