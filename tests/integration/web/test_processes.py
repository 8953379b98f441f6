"""What runs is a tree with what it costs; one process shows its command, its output and its end, and can be ended."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from archivebox.accounts.audit import AuditEntry
from archivebox.accounts.roles import Account
from archivebox.base_models import paging
from archivebox.base_models.work import Request
from archivebox.core.models import ArchiveResult
from archivebox.lib.processes import ProcessIdentity
from archivebox.machine.models import Machine, NetworkInterface, Process
from tests import factories
from tests.webserver.markup import page_of

pytestmark = [pytest.mark.usefixtures("pages", "collection"), pytest.mark.database]


def caller_account(role: str) -> Client:
    client = Client(SERVER_NAME="localhost")
    user = User.objects.create_user(role)
    Account.objects.create(user=user, role=role)
    client.force_login(user)
    return client


@pytest.fixture
def client() -> Client:
    return caller_account("editor")


def ended(**columns: Any) -> Process:
    now = timezone.now()
    facts: dict[str, Any] = {
        "status": "exited",
        "exit_code": 0,
        "end_reason": "exited",
        "started_at": now,
        "ended_at": now,
    }
    return factories.row(**facts | columns)


def running_hook() -> Process:
    """A worker that runs (this very process), and its hook, for a page."""
    worker = factories.row(process_type="worker", worker_type="worker", cmd=["archivebox", "worker"])
    worker.set_identity(ProcessIdentity.current())
    worker.save()
    snapshot = factories.snapshot("https://example.org/tree")
    begun = timezone.now() - timedelta(seconds=80)
    return factories.row(
        worker, process_type="hook", status="running", plugin="wget", hook_name="on_Snapshot__61_wget.py",
        cmd=["python", "/x/on_Snapshot__61_wget.py", "--proxy=http://eve:hunter2@proxy:1"], started_at=begun,
        snapshot_id=snapshot.pk, crawl_id=snapshot.crawl_id, pwd="/nowhere/wget",
        stdout="42 links", stderr="<slow>", stdout_size=8, stderr_size=6,
    )  # fmt: skip


def test_what_runs_is_a_tree_with_the_page_between_and_its_cost(client: Client) -> None:
    hook = running_hook()
    page = page_of(client.get("/processes/?part=running"))
    places = [page.index(word) for word in ("archivebox worker", "https://example.org/tree", hook.hook_name)]
    assert places == sorted(places)
    assert " MB</span>" in page, "the memory of this very process"
    assert "1 min " in page, "how long the hook has run"
    assert "<html" not in page
    assert "hunter2" not in page


def test_what_has_ended_is_chosen_by_type_plugin_and_failure(client: Client) -> None:
    good = ended(process_type="hook", plugin="wget", hook_name="on_Snapshot__61_wget.py")
    bad = ended(
        process_type="hook", plugin="dom", hook_name="on_Snapshot__53_dom.py", exit_code=None, end_reason="lost"
    )
    tool = ended(process_type="binary", cmd=["/usr/bin/wget", "x"], plugin="wget", exit_code=4)
    told = ended(
        process_type="hook",
        plugin="tab",
        hook_name="on_Snapshot__20_tab.daemon.bg.py",
        exit_code=-15,
        end_reason="sealed",
    )
    every = (good, bad, tool, told)
    for query, shown in [
        ("", {*every}),
        ("?type=hook", {good, bad, told}),
        ("?plugin=wget", {good, tool}),
        ("?failed=yes", {bad, tool}),
        ("?failed=yes&type=hook&plugin=dom", {bad}),
        ("?plugin=pdf", set()),
    ]:
        page = page_of(client.get(f"/processes/{query}"))
        assert {row for row in every if f"/processes/{row.pk}/" in page} == shown, query


def test_a_choice_that_no_index_finds_looks_through_a_bounded_part_and_goes_on(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugins = ["rare", "", "rare", "", "", ""]
    rows = [ended(process_type="hook", plugin=name, hook_name="on_Snapshot__1_rare.py") for name in plugins]
    rare = [row.pk for row in rows if row.plugin]
    monkeypatch.setattr(paging, "LOOKED_AT", 3)
    first = client.get("/processes/?plugin=rare")
    assert [row.pk for row in first.context["page"].rows] == rare[1:]
    older = first.context["page"].older
    second = client.get(f"/processes/?plugin=rare&before={older}")
    assert [row.pk for row in second.context["page"].rows] == rare[:1]
    assert second.context["page"].older is None


def test_a_process_shows_its_command_without_secrets_and_the_end_of_its_output(client: Client) -> None:
    hook = running_hook()
    page = page_of(client.get(f"/processes/{hook.pk}/"))
    for shown in (
        "--proxy=http://proxy:1",
        "42 links",
        "&lt;slow&gt;",
        "/nowhere/wget",
        "archivebox worker",
        'hx-get="?part=now"',
    ):
        assert shown in page, shown
    assert "hunter2" not in page
    of_worker = page_of(client.get(f"/processes/{hook.parent_id}/"))
    assert f"/processes/{hook.pk}/" in of_worker, "its child"
    assert "hook, wget, for https://example.org/tree" in of_worker


def test_what_a_process_prints_is_asked_for_alone_while_it_runs(client: Client) -> None:
    hook = running_hook()
    now = page_of(client.get(f"/processes/{hook.pk}/?part=now"))
    assert "42 links" in now
    assert 'hx-select-oob="#size-stdout,#tail-stdout:innerHTML,#size-stderr,#tail-stderr:innerHTML"' in now
    assert "<html" not in now
    assert "/nowhere/wget" not in now, "what stays as it is"


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"exit_code": 0}, "Its exit status was 0."),
        (
            {"exit_code": -9, "end_reason": "timeout"},
            "It exceeded its time limit and was stopped. It was stopped by SIGKILL.",
        ),
        ({"exit_code": None, "end_reason": "lost"}, "Its exit was not observed"),
        ({"exit_code": -15, "end_reason": "cancelled"}, "Stopped on request."),
    ],
)
def test_every_end_is_a_sentence(client: Client, columns: dict[str, object], sentence: str) -> None:
    row = ended(process_type="binary", cmd=["x"], **columns)
    page = page_of(client.get(f"/processes/{row.pk}/"))
    assert sentence in page
    assert "?part=now" not in page
    assert "End it" not in page


def test_a_hook_is_ended_by_its_worker_whom_the_page_only_asks(client: Client) -> None:
    hook = running_hook()
    program = factories.row(hook, process_type="binary", status="running", cmd=["/usr/bin/wget"])
    assert ">Stop<" in page_of(client.get(f"/processes/{program.pk}/"))
    assert client.post(f"/processes/{program.pk}/end/").status_code == 302
    assert factories.again(hook).request == Request.KILL
    assert "Stop requested" in page_of(client.get(f"/processes/{hook.pk}/"))
    assert [entry.action for entry in AuditEntry.objects.exclude(action="user.login")] == ["process.ended"]


def test_what_no_worker_holds_is_not_ended_from_a_page(client: Client) -> None:
    hook = running_hook()
    worker = factories.again(hook).parent
    assert worker is not None
    for row in (worker, ended(process_type="hook", hook_name="on_Snapshot__1_x.py")):
        assert "End it" not in page_of(client.get(f"/processes/{row.pk}/"))
        assert "no longer running" in page_of(client.post(f"/processes/{row.pk}/end/", follow=True))
    assert Process.objects.filter(pk=worker.pk).ask_workers_to_end() == 0
    assert not Process.objects.exclude(request="").exists()


def test_a_page_links_to_its_processes_and_a_viewer_sees_none(client: Client) -> None:
    hook = running_hook()
    assert f'href="/processes/{hook.pk}/"' in page_of(client.get(f"/snapshots/{hook.snapshot_id}/"))
    viewer = caller_account("viewer")
    page = page_of(viewer.get(f"/snapshots/{hook.snapshot_id}/"))
    assert "/processes/" not in page
    assert "/plugins/" not in page


def test_a_result_names_the_interface_by_which_its_hook_connected(client: Client) -> None:
    interface = NetworkInterface.objects.create(machine=Machine.current(), iface="eth0", ip_local="10.0.0.2")
    snapshot = factories.snapshot("https://example.org/interface")
    result = ArchiveResult.objects.create(snapshot=snapshot, plugin="wget", status="succeeded", iface=interface)
    process = ended(process_type="hook", plugin="wget", snapshot_id=snapshot.pk, archiveresult_id=result.pk)
    ArchiveResult.objects.filter(pk=result.pk).update(process=process)
    assert "by eth0 10.0.0.2" in page_of(client.get(f"/snapshots/{snapshot.pk}/"))
    assert "10.0.0.2" not in page_of(caller_account("viewer").get(f"/snapshots/{snapshot.pk}/"))
