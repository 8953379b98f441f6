"""Plugins say what they save and lack; settings are forms that write to ArchiveBox.conf, or say why they do not."""

import re

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from archivebox import hooks
from archivebox.accounts.models import Account, AuditEntry
from archivebox.config.conffile import write_conf
from archivebox.config.settings import DATA_FOLDER
from archivebox.core.models import ArchiveResult
from archivebox.hooks import base_layers, resolve_settings
from archivebox.hooks.stored_settings import stored_settings
from tests import factories
from tests.webserver.markup import page_of

pytestmark = [pytest.mark.usefixtures("pages", "collection"), pytest.mark.database]


@pytest.fixture
def client() -> Client:
    client = Client(SERVER_NAME="localhost")
    client.force_login(User.objects.create_superuser("ada"))
    return client


def test_each_plugin_says_what_it_saves_whether_it_is_on_and_who_says_so(client: Client) -> None:
    write_conf(DATA_FOLDER.conf, {"SCREENSHOT_ENABLED": "false", "PDF_ENABLED": "true"})
    everything = page_of(client.get("/plugins/"))
    assert all(f"/plugins/{name}/" in everything for name in hooks.plugins())
    assert re.search(r"<h2>Picture</h2>.*/plugins/screenshot/.*<h2>PDF</h2>.*/plugins/pdf/", everything, re.DOTALL)
    found = page_of(client.get("/plugins/?q=would+be+printed"))
    assert ("/plugins/pdf/" in found, "/plugins/screenshot/" in found) == (True, False)
    off = page_of(client.get("/plugins/?show=off"))
    assert "/plugins/screenshot/" in off
    assert "/plugins/pdf/" not in off
    assert "by ArchiveBox.conf" in page_of(client.get("/plugins/pdf/"))
    assert client.get("/plugins/nothing/").status_code == 404


def test_a_missing_program_comes_with_the_command_that_gets_it(client: Client) -> None:
    folder = factories.plugin("lacking", {"on_Snapshot__50_lacking.sh": "exit 0"})
    (folder / "binaries.jsonl").write_text('{"type": "Binary", "name": "no-such-program", "binproviders": "env"}\n')
    hooks.forget_plugins()
    for page in ("/plugins/?show=lacking", "/plugins/lacking/"):
        assert "archivebox install no-such-program" in page_of(client.get(page))


def test_settings_of_a_plugin_are_written_to_the_file_and_taken_out_of_it(client: Client) -> None:
    DATA_FOLDER.conf.write_text("# mine\nSAVE_WGET = false\n")
    form = client.get("/plugins/wget/").context["form"]
    assert form["WGET_ENABLED"].initial == "false", "an alias counts"
    fields = {"WGET_ENABLED": "true", "WGET_TIMEOUT": "90", "WGET_USER_AGENT": ""}
    assert client.post("/plugins/wget/", fields).status_code == 302
    assert stored_settings() == {"WGET_ENABLED": "true", "WGET_TIMEOUT": "90"}
    assert resolve_settings(base_layers()).get("WGET_TIMEOUT") == 90
    client.post("/plugins/wget/", fields | {"WGET_TIMEOUT": ""})
    kept = "" if connection.vendor == "postgresql" else "WGET_ENABLED = true\n"
    assert DATA_FOLDER.conf.read_text() == f"# mine\n{kept}"
    assert stored_settings() == {"WGET_ENABLED": "true"}
    assert [entry.detail["names"] for entry in AuditEntry.objects.filter(action="settings.changed").order_by("pk")] == [
        ["WGET_ENABLED", "WGET_TIMEOUT"],
        ["WGET_TIMEOUT"],
    ]


def test_what_is_not_allowed_is_said_at_its_field_and_nothing_is_written(client: Client) -> None:
    answer = client.post("/plugins/wget/", {"WGET_TIMEOUT": "soon", "WGET_ENABLED": "false"})
    assert answer.status_code == 422
    assert answer.context["form"].errors.keys() == {"WGET_TIMEOUT"}
    assert "it takes a number of at least 1" in page_of(answer)
    assert not DATA_FOLDER.conf.exists()
    broken = client.post("/settings/?group=Crawls", {"URL_DENYLIST": "a\n\n# b"})
    assert broken.status_code == 422
    assert "URL_DENYLIST" in broken.context["form"].errors
    assert not DATA_FOLDER.conf.exists()


def test_what_leads_to_programs_and_places_is_set_from_a_terminal_alone(client: Client) -> None:
    client.post(
        "/plugins/wget/", {"WGET_BINARY": "/bin/sh", "WGET_ARGS_EXTRA": '["-c"]', "WGET_COOKIES_FILE": "/etc/x"}
    )
    client.post("/plugins/custom_css_js/", {"CUSTOM_CSS_JS_FILES": '["/etc/passwd"]'})
    client.post("/settings/?group=Places", {"LIB_DIR": "/tmp/evil", "DATABASE_URL": "postgres://x"})
    assert not DATA_FOLDER.conf.exists()
    write_conf(DATA_FOLDER.conf, {"WGET_ARGS_EXTRA": '["--password=hunter2", "--quiet"]'})
    page = page_of(client.get("/plugins/wget/"))
    assert "archivebox config set WGET_BINARY=…" in page
    assert "--quiet" in page
    assert "hunter2" not in page


def test_a_secret_is_never_shown_stays_when_nothing_is_typed_and_can_be_taken_out(client: Client) -> None:
    write_conf(DATA_FOLDER.conf, {"PROXY": "http://eve:hunter2@proxy.example:3128"})
    assert "hunter2" not in page_of(client.get("/settings/?group=Crawls"))
    client.post("/settings/?group=Crawls", {"MAX_DEPTH": "2"})
    assert stored_settings()["PROXY"] == "http://eve:hunter2@proxy.example:3128"
    refused = client.post("/settings/?group=Crawls", {"PROXY": "hunter3"})
    assert refused.status_code == 422
    assert "hunter3" not in page_of(refused)
    client.post("/settings/?group=Crawls", {"MAX_DEPTH": "2", "PROXY__unset": "on"})
    assert stored_settings() == {"MAX_DEPTH": "2"}


def test_who_is_asked_with_a_secret_is_set_from_a_terminal_alone(client: Client) -> None:
    client.post("/plugins/summarize/", {"SUMMARIZE_URL": "http://elsewhere.example/v1"})
    client.post("/plugins/search_backend_sonic/", {"SEARCH_BACKEND_SONIC_HOST_NAME": "elsewhere.example"})
    assert not DATA_FOLDER.conf.exists()
    assert "archivebox config set SUMMARIZE_URL=…" in page_of(client.get("/plugins/summarize/"))


def test_an_unreadable_settings_file_is_explained_to_administrators_only(
    client: Client,
) -> None:
    editor = Client(SERVER_NAME="localhost")
    editor.force_login(Account.objects.create(user=User.objects.create_user("eve"), role="editor").user)
    DATA_FOLDER.conf.write_text("MAX_DEPTH = 1\nPASSWORD hunter2\n")
    for path in ("/settings/", "/plugins/", "/plugins/wget/"):
        told, other = client.get(path), editor.get(path)
        assert (told.status_code, other.status_code) == (503, 503)
        assert "ArchiveBox.conf line 2" in page_of(told)
        assert "hunter2" not in page_of(other)
    assert client.post("/settings/?group=Crawls", {"MAX_DEPTH": "2"}).status_code == 503


def test_settings_say_where_each_comes_from(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    write_conf(DATA_FOLDER.conf, {"WORKERS": "2", "NO_SUCH": "1"})
    monkeypatch.setenv("WORKERS", "3")
    page = page_of(client.get("/settings/?group=Work"))
    assert "Set to <code>3</code> by <b>the environment</b>, which overrides the stored value" in page
    assert "NO_SUCH" in page
    lines = [line for line in base_layers() if line.name == "file"]
    assert lines[0].values["WORKERS"] == "2"


def test_the_latest_outcomes_of_a_plugin_are_counted_and_lead_to_their_pages(client: Client) -> None:
    snapshots = list(factories.crawl(*[f"https://example.org/{n}" for n in range(3)]).snapshot_set.all())
    for snapshot, status, reason in zip(
        snapshots, ("succeeded", "failed", "succeeded"), ("", "timeout", ""), strict=True
    ):
        columns = {"plugin": "wget", "hook_name": "on_Snapshot__61_wget.py", "pwd": "", "status": status}
        ArchiveResult.objects.create(snapshot=snapshot, reason=reason, **columns)
    page = client.get("/plugins/wget/")
    assert dict(page.context["came_to"]) == {"succeeded": 2, "failed": 1}
    assert all(f"/snapshots/{snapshot.pk}/" in page_of(page) for snapshot in snapshots)


def test_a_switch_writes_what_differs_from_its_default_and_takes_out_what_does_not(client: Client) -> None:
    page = page_of(client.get("/plugins/wget/"))
    assert re.search(r'<input type="hidden" name="WGET_ENABLED" value="false"><input[^>]* role="switch"[^>]*>', page)
    client.post("/plugins/wget/", {"WGET_ENABLED": "false"})
    assert not DATA_FOLDER.conf.exists(), "it is off by default"
    client.post("/plugins/wget/", {"WGET_ENABLED": ["false", "true"]})
    assert stored_settings() == {"WGET_ENABLED": "true"}
    assert re.search(r'name="WGET_ENABLED" role="switch"[^>]* checked', page_of(client.get("/plugins/wget/")))
    client.post("/plugins/wget/", {"WGET_ENABLED": "false"})
    assert stored_settings() == {}


def test_settings_are_found_by_what_people_call_them_and_say_no_regular_expressions(client: Client) -> None:
    found = client.get("/settings/?q=whole+length")
    assert "/plugins/screenshot/#setting-SCREENSHOT_FULL_PAGE" in page_of(found)
    assert ">Full page</label>" in page_of(client.get("/plugins/screenshot/"))
    changed = client.post("/settings/?q=disk", {"DISK_FREE_MIN": "1000000"})
    assert (changed.status_code, changed["location"]) == (302, "/settings/?q=disk")
    assert stored_settings() == {"DISK_FREE_MIN": "1000000"}
    assert "^" not in page_of(client.get("/settings/?group=Crawls"))
    assert client.get("/settings/?q=nothing+has+this").status_code == 200
