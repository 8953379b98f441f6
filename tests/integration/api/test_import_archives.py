"""The page that imports archived pages: who may name and upload what, what is shown, and what becomes of it."""

import re
import time
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse

from archivebox.accounts.audit import AuditEntry
from archivebox.config.conffile import write_conf
from archivebox.config.settings import DATA_FOLDER
from archivebox.core.models import Snapshot
from archivebox.imports.page import NotReadableError
from archivebox.jobs.models import Job
from archivebox.web.auth import page_access
from tests.integration.api.conftest import Caller, Make
from tests.job_runner import carried_out
from tests.old_collection import make_old_collection, unpack
from tests.unit.imports.archives import Said, write_warc

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("collection")]
PAGE = "/import/archives/"


def send(who: Caller, at: str = PAGE, /, **fields: object) -> HttpResponse:
    answer: HttpResponse = who.client.post(at, fields)  # type: ignore[assignment]  # the client's own kind
    return answer


def page(who: Caller, path: str = PAGE) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", who.client.get(path).content.decode()))


def warc(folder: Path) -> bytes:
    write_warc(folder / "a.warc", [Said("https://a.example/", b"<title>Apple</title>quince")])
    return (folder / "a.warc").read_bytes()


def begun(who: Caller, **fields: object) -> Job:
    """What is inspected then, as its page says."""
    answer = send(who, **fields)
    assert answer.status_code == 302, answer.content
    return carried_out(Job.objects.get(pk=answer["location"].split("/")[3]))


def test_a_folder_is_shown_and_imported_and_what_was_not_is_a_download(caller: Make, tmp_path: Path) -> None:
    admin, source = caller("admin"), make_old_collection(tmp_path / "old")
    (source / "stray").mkdir()
    job = begun(admin, path=str(source))
    assert not Snapshot.objects.exists()
    here = f"{PAGE}{job.pk}/"
    told = page(admin, here)
    for words in ("Pages 2", "Not imported 1", "stray It is of no page.", "Import 2 pages", "hard links"):
        assert words in told
    assert "not imported yet" in page(admin)
    began = send(admin, here, transfer="link", visibility="private")
    importing = carried_out(Job.objects.get(kind="import_pages"))
    assert began["location"] == admin.client.get(here)["location"] == f"/jobs/{importing.pk}/"
    assert (importing.options["transfer"], importing.created_by) == ("link", admin.user)
    told = page(admin, f"/jobs/{importing.pk}/")
    for words in ("2 of 2 pages", "Files linked", "Imported 2", "Not imported 3", "It is a symbolic link."):
        assert words in told
    lines = b"".join(admin.client.get(f"/jobs/{importing.pk}/not-imported.csv")).decode().splitlines()
    assert (lines[0], len(lines)) == ("item,why", 4)
    actions = set(AuditEntry.objects.values_list("action", flat=True))
    assert actions >= {"import.inspected", "import.begun"}


def test_only_administrators_name_folders_of_the_server(caller: Make, tmp_path: Path) -> None:
    editor = caller("editor")
    assert "On this server" not in page(editor)
    assert send(editor, path=str(tmp_path)).status_code == 403
    assert caller("viewer").client.get(PAGE).status_code == 403
    assert not Job.objects.exists()


def test_a_folder_is_named_by_who_has_just_shown_who_they_are(caller: Make, tmp_path: Path) -> None:
    admin, source = caller("admin"), str(make_old_collection(tmp_path / "old"))
    job = begun(admin, path=source)
    session = admin.client.session
    session["confirmed_at"] = time.time() - page_access.LASTS
    session.save()
    for at, fields in ((PAGE, {"path": source}), (f"{PAGE}{job.pk}/", {"transfer": "copy", "visibility": "private"})):
        assert send(admin, at, **fields)["location"].startswith("/security/confirm/?next=")
    assert f'value="{source}"' in admin.client.get(f"{PAGE}?path={source}").content.decode()
    assert Job.objects.count() == 1


def test_what_was_asked_for_goes_on_after_the_password_and_says_what_would_come(caller: Make, tmp_path: Path) -> None:
    admin, source = caller("admin"), unpack("0.7.4", tmp_path)
    session = admin.client.session
    session["confirmed_at"] = 0
    session.save()
    asking = send(admin, path=str(source))["location"]
    assert f"The server will read {source}" in page(admin, asking)
    session = admin.client.session
    session["confirmed_at"] = time.time()
    session.save()
    inspecting = admin.client.get(PAGE)["location"]
    job = carried_out(Job.objects.get())
    assert inspecting == f"{PAGE}{job.pk}/"
    assert admin.client.get(PAGE).status_code == 200, "once"
    told = page(admin, inspecting)
    for words in ("Accounts: ada (admin), ben (viewer).", r"URL_DENYLIST = //(.*\.)?ads\.example"):
        assert words in told
    assert 'name="whole" checked' not in (shown := admin.client.get(inspecting).content.decode())
    assert 'name="whole"' in shown


def test_a_path_that_may_not_be_read_is_refused_on_the_page(caller: Make, tmp_path: Path) -> None:
    admin = caller("admin")
    for path, words in ((DATA_FOLDER.root, "is part of this collection"), (tmp_path / "none", "Nothing was found at")):
        answer = send(admin, path=str(path))
        assert (answer.status_code, words in answer.content.decode()) == (422, True)
    write_conf(DATA_FOLDER.conf, {"IMPORT_DIR": ""})
    assert "IMPORT_DIR" in page(admin)
    assert send(admin, path=str(tmp_path)).status_code == 422
    assert not Job.objects.exists()


def test_an_editor_imports_an_uploaded_file_as_pages_of_their_own(caller: Make, tmp_path: Path) -> None:
    editor = caller("editor")
    job = begun(editor, file=SimpleUploadedFile("a.warc", warc(tmp_path)))
    here = f"{PAGE}{job.pk}/"
    told = page(editor, here)
    assert "hard links" not in told
    assert str(DATA_FOLDER.root) not in told
    send(editor, here, visibility="private", whole="on", transfer="move")
    importing = carried_out(Job.objects.get(kind="import_pages"))
    assert (importing.options["all"], importing.options["transfer"]) == (False, "copy")
    assert Snapshot.objects.get().created_by == editor.user
    assert list(DATA_FOLDER.uploads.iterdir()) == []
    assert str(DATA_FOLDER.root) not in page(editor, f"/jobs/{importing.pk}/")


def test_pieces_are_kept_for_their_owner_alone(caller: Make, tmp_path: Path) -> None:
    editor, content = caller("editor"), warc(tmp_path)
    announced = send(editor, name="a.warc", size=len(content)).json()  # type: ignore[attr-defined]  # the client's own
    address = f"{announced['page']}file/?offset="

    def put(who: Caller, offset: object, piece: bytes) -> tuple[int, dict[str, object]]:
        answer = who.client.post(f"{address}{offset}", piece, content_type="application/octet-stream")
        return answer.status_code, answer.json() if answer["content-type"] == "application/json" else {}

    assert put(editor, 0, content[:40]) == (200, {"received": 40})
    assert "40 B of" in page(editor, announced["page"])
    assert put(editor, 0, content[:40]) == (200, {"received": 40})
    assert put(editor, 40, content)[0] == 422
    assert put(editor, "x", b"")[0] == 404
    assert put(caller("viewer"), 40, content[40:])[0] == 403
    assert put(editor, 40, content[40:]) == (200, {"received": len(content)})
    assert put(editor, 40, content[40:])[0] == 409
    assert carried_out(Job.objects.get()).memory["report"]["pages"] == 1


def test_what_is_too_large_or_empty_is_refused_before_it_is_sent(caller: Make) -> None:
    editor = caller("editor")
    write_conf(DATA_FOLDER.conf, {"IMPORT_UPLOAD_MAX": "1000"})
    for length, words in (("1001", "at most 1.0 kB"), ("0", "is empty"), ("x", "a name and a size")):
        answer = send(editor, name="a.warc", size=length)
        assert answer.status_code == 422
        assert words in answer.json()["problem"]  # type: ignore[attr-defined]  # the client's own
    answer = send(editor, file=SimpleUploadedFile("a.warc", b"x" * 1001))
    assert (answer.status_code, "at most 1.0 kB" in answer.content.decode()) == (422, True)
    assert not Job.objects.exists()


def test_others_see_nothing_of_an_import_but_administrators_do(caller: Make, tmp_path: Path) -> None:
    job = begun(caller("editor"), file=SimpleUploadedFile("a.warc", warc(tmp_path)))
    here = f"{PAGE}{job.pk}/"
    other = Caller(caller("viewer").user)
    other.user.account.role = "editor"  # type: ignore[union-attr]  # it has one
    other.user.account.save()  # type: ignore[union-attr]  # the same
    assert send(other, here, visibility="private").status_code == 404
    assert other.client.get(f"/jobs/{job.pk}/not-imported.csv").status_code == 404
    assert "a.warc" in page(caller("admin"), here)


def test_what_was_discarded_or_cancelled_leaves_no_file(caller: Make, tmp_path: Path) -> None:
    editor, content = caller("editor"), warc(tmp_path)
    job = begun(editor, file=SimpleUploadedFile("a.warc", content))
    assert send(editor, f"{PAGE}{job.pk}/", change="discard")["location"] == PAGE
    waiting = send(editor, file=SimpleUploadedFile("a.warc", content))["location"]
    assert "Reading what is in it" in page(editor, waiting)
    send(editor, waiting, change="discard")
    assert "Nothing was imported." in page(editor, waiting)
    assert list(DATA_FOLDER.uploads.iterdir()) == []
    assert not Snapshot.objects.exists()


def test_what_cannot_be_read_says_why_and_imports_nothing(caller: Make) -> None:
    editor = caller("editor")
    where = send(editor, file=SimpleUploadedFile("notes.txt", b"Buy pears."))["location"]
    job = Job.objects.get()
    with pytest.raises(NotReadableError) as caught:
        carried_out(job)
    job.refresh_from_db()
    job.transition("seal", problem=str(caught.value))
    assert "notes.txt is nothing that can be imported." in page(editor, where)
    assert send(editor, where, visibility="private").status_code == 200
    assert list(DATA_FOLDER.uploads.iterdir()) == []
    assert not Job.objects.filter(kind="import_pages").exists()
