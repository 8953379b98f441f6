"""Archived pages are imported by the API: a file in pieces, its report, and the job."""

import json
from pathlib import Path
from typing import Any

import pytest

from archivebox.base_models.users import system_user
from archivebox.config.settings import DATA_FOLDER
from archivebox.core.models import Snapshot
from archivebox.jobs import inspecting
from archivebox.jobs.models import Job
from tests.integration.api.conftest import Caller, Make
from tests.job_runner import carried_out
from tests.old_collection import make_old_collection
from tests.unit.imports.archives import Said, write_warc

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("collection")]
IMPORTS = "/api/v1/imports"


def put(who: Caller, key: str, offset: int, piece: bytes) -> tuple[int, dict[str, Any]]:
    answer = who.client.put(f"{IMPORTS}/{key}/file?offset={offset}", piece, content_type="application/octet-stream")
    return answer.status_code, json.loads(answer.content)


def test_a_file_is_sent_in_pieces_read_and_imported(caller: Make, tmp_path: Path) -> None:
    editor = caller("editor", "write")
    write_warc(tmp_path / "a.warc", [Said("https://a.example/", b"<title>Apple</title>quince")])
    content = (tmp_path / "a.warc").read_bytes()
    key = editor.post(IMPORTS, {"name": "a.warc", "size": len(content)})["id"]
    assert put(editor, key, 0, content[:9])[1]["received"] == 9
    assert put(editor, key, 5, content[5:])[1]["received"] == 9
    assert put(editor, key, 9, content)[0] == 422
    editor.post(f"{IMPORTS}/{key}/start", status=409)
    status, told = put(editor, key, 9, content[9:])
    assert (status, told["status"], told["report"]) == (200, "queued", None)
    carried_out(Job.objects.get(pk=key))
    assert editor.get(f"{IMPORTS}/{key}")["report"]["pages"] == 1
    job = editor.post(f"{IMPORTS}/{key}/start", {"visibility": "private"}, status=202)
    assert carried_out(Job.objects.get(pk=job["id"])).done == 1
    page = Snapshot.objects.get()
    assert (page.title, page.visibility, page.created_by) == ("Apple", "private", editor.user)
    told = editor.get(f"{IMPORTS}/{key}")
    assert (told["job_id"], told["received"]) == (job["id"], -1)
    editor.post(f"{IMPORTS}/{key}/start", status=409)
    assert editor.ask("DELETE", f"{IMPORTS}/{key}").status_code == 409


def test_a_file_is_discarded_and_none_is_too_large(caller: Make) -> None:
    editor = caller("editor", "write")
    key = editor.post(IMPORTS, {"name": "a.warc", "size": 9})["id"]
    assert put(editor, key, 0, b"x" * 8_000_001)[0] == 413
    assert editor.ask("DELETE", f"{IMPORTS}/{key}").status_code == 204
    assert editor.ask("GET", f"{IMPORTS}/{key}").status_code == 404
    assert list(DATA_FOLDER.uploads.iterdir()) == []
    editor.post(IMPORTS, {"name": "a.warc", "size": 10**15}, status=422)


def test_what_was_named_on_the_page_is_not_imported_by_the_api(caller: Make, tmp_path: Path) -> None:
    job = carried_out(inspecting.inspect_path(str(make_old_collection(tmp_path / "old")), system_user()))
    admin = caller("admin", "admin")
    assert admin.ask("GET", f"{IMPORTS}/{job.pk}").status_code == 404
    admin.post(f"{IMPORTS}/{job.pk}/start", status=404)
