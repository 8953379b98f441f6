import re

import pytest
from django.db import IntegrityError

from archivebox.base_models.work import Request
from archivebox.core.crawl_control.retry import RETRIABLE, retry_missing, retry_program, retry_results
from archivebox.core.models import ArchiveResult, Note, Snapshot, Tag
from archivebox.core.statemachines import SnapshotMachine
from archivebox.core.tag import split_tags
from archivebox.core.versions.url_versions import replace_older
from archivebox.crawls.control import cancel, pause, resume
from archivebox.crawls.models import Crawl
from archivebox.hooks import discover_hooks
from archivebox.lib.jsonl import JSON
from archivebox.machine.models import Process
from archivebox.storage.layout import DataFolder
from tests.factories import crawl, leased, plugin, row, shell, snapshot
from tests.status_triggers import arrange

pytestmark = pytest.mark.usefixtures("collection")
NEXT = "https://example.com/next"


def again(page: Snapshot) -> Snapshot:
    return Snapshot.objects.get(pk=page.pk)


class TestLife:
    def test_entering_started_writes_one_queued_result_for_each_hook(self) -> None:
        plugin(
            "tiny",
            {"on_Snapshot__10_a.sh": "true\n", "on_Snapshot__20_b.bg.sh": "true\n", "on_Crawl__10_c.sh": "true\n"},
        )
        page = leased(snapshot())
        page.transition("start")
        tiny = page.archiveresult_set.filter(plugin="tiny").order_by("hook_name")
        assert [one.hook_name for one in tiny] == ["on_Snapshot__10_a.sh", "on_Snapshot__20_b.bg.sh"]
        assert {one.status for one in tiny} == {"queued"}
        assert all(one.retry_at is not None for one in tiny)
        assert page.create_pending_archiveresults() == []
        plugin("later", {"on_Snapshot__10_d.sh": "true\n"})
        assert [one.plugin for one in page.create_pending_archiveresults()] == ["later"]
        with pytest.raises(IntegrityError):
            ArchiveResult.objects.create(snapshot=page, plugin="tiny", hook_name="on_Snapshot__10_a.sh")

    def test_others_are_told_of_a_private_page_only_where_that_was_asked_for(self) -> None:
        hook = "on_Snapshot__10_a.sh"
        said: dict[str, JSON] = {"OTHERS_URL": {"type": "string", "default": ""}}
        plugin("others", {hook: "true\n"}, config={"properties": said, "x-hooks": {hook: {"tells": ["OTHERS_URL"]}}})
        told: dict[str, JSON] = {"OTHERS_URL": "https://others.example/"}

        def what_becomes(visibility: str, **config: JSON) -> str:
            page = crawl(visibility=visibility, config=config).snapshot_set.get()
            page.create_pending_archiveresults()
            return page.archiveresult_set.get(plugin="others").reason

        assert what_becomes("private", **told) == "private_page"
        assert what_becomes("private") == "", "nobody is told"
        assert what_becomes("members", **told) == ""
        assert what_becomes("private", **told, PLUGINS=["others"]) == ""
        assert what_becomes("private", **told, OTHERS_ENABLED=True) == ""

    def test_our_own_plugins_say_whom_they_tell(self) -> None:
        telling = {hook.plugin for hook in discover_hooks("Snapshot") if hook.tells}
        assert telling == {"archive_org", "favicon", "papersdl", "summarize"}

    def test_a_step_is_over_when_its_foreground_is_final_or_in_back_off(self) -> None:
        page = leased(snapshot())
        make = page.archiveresult_set.create
        first = make(plugin="a", hook_name="on_Snapshot__01_a.sh")
        make(plugin="b", hook_name="on_Snapshot__02_b.bg.sh", status="started")
        assert not page.advance_step_if_ready()
        arrange(ArchiveResult.objects.filter(pk=first.pk), status="started")
        assert not page.advance_step_if_ready()
        arrange(ArchiveResult.objects.filter(pk=first.pk), status="backoff")
        assert page.advance_step_if_ready()
        assert (page.current_step, again(page).current_step) == (1, 1)
        for step in range(2, 10):
            assert page.advance_step_if_ready()
            assert again(page).current_step == step
        assert not page.advance_step_if_ready()
        assert again(page).current_step == 9

    def test_who_has_lost_the_lease_advances_nothing(self) -> None:
        page = leased(snapshot())
        Snapshot.objects.filter(pk=page.pk).update(fence=page.fence + 1)
        assert not page.advance_step_if_ready()
        assert (page.current_step, again(page).current_step) == (0, 0)

    def test_finished_is_a_question_that_only_reads(self) -> None:
        page = leased(snapshot())
        machine = SnapshotMachine(model=page, state_field="status")
        result = page.archiveresult_set.create(plugin="a", hook_name="on_Snapshot__01_a.sh")
        before = Snapshot.objects.filter(pk=page.pk).values().get()
        assert page.has_pending_children()
        assert not machine.is_finished()
        arrange(ArchiveResult.objects.filter(pk=result.pk), status="backoff")
        assert not page.has_pending_children()
        hook = row(process_type="hook", hook_name="x.bg.sh", snapshot_id=page.pk, status="running")
        assert page.has_running_background_hooks()
        assert not machine.is_finished()
        arrange(Process.objects.filter(pk=hook.pk), status="exited")
        assert machine.is_finished()
        assert Snapshot.objects.filter(pk=page.pk).values().get() == before

    def test_sealing_leaves_no_process_of_it(self) -> None:
        page = leased(snapshot())
        page.transition("start")
        hook = shell("setsid sleep 60 & sleep 60")
        hook.process_type, hook.snapshot_id = "hook", page.pk
        hook.launch(background=True)
        page.transition("seal", owner=None, retry_at=None)
        assert not hook.is_running
        assert hook.get_children_pids() == []
        assert [one.pk for one in page.process_set.all()] == [hook.pk]

    def test_the_folder_is_stored(self, collection: DataFolder) -> None:
        page = snapshot("http://Example.COM:8000/a/b?c")
        pattern = rf"users/system/snapshots/\d{{8}}/example\.com_8000/{page.pk}"
        assert re.fullmatch(pattern, page.output_dir)
        assert page.path == collection.root / page.output_dir
        assert re.fullmatch(rf"users/system/crawls/\d{{8}}/{page.crawl_id}", page.crawl.output_dir)
        assert page.domain == "example.com_8000"


class TestFromJsonl:
    def test_a_url_found(self) -> None:
        page = snapshot(max_depth=2)
        Snapshot.objects.filter(pk=page.pk).update(config={"TIMEOUT": 5})
        page.refresh_from_db()
        found = Snapshot.from_jsonl({"url": NEXT, "title": "T", "tags": ["a"]}, {"snapshot": page})
        assert found is not None
        assert (found.depth, found.parent_snapshot_id, found.crawl_id) == (1, page.pk, page.crawl_id)
        assert (found.status, found.created_by_id, found.config) == ("queued", page.created_by_id, {"TIMEOUT": 5})
        assert found.retry_at is not None
        assert [layer.values for layer in found.layers()][-1] == {"TIMEOUT": 5}
        assert list(page.outlinks.all()) == [found]

    def test_the_same_url_is_one_row_of_its_crawl(self) -> None:
        page = snapshot()
        first = Snapshot.from_jsonl({"url": NEXT, "tags": "a"}, {"snapshot": page})
        second = Snapshot.from_jsonl({"url": NEXT, "tags": "b", "depth": True}, {"snapshot": page})
        assert first is not None
        assert first == second
        assert sorted(tag.name for tag in first.tags.all()) == ["a", "b"]

    def test_into_a_crawl_without_a_parent(self) -> None:
        found = Snapshot.from_jsonl({"url": NEXT, "depth": 1}, {"crawl": crawl()})
        assert found is not None
        assert (found.depth, found.parent_snapshot) == (1, None)

    @pytest.mark.parametrize("title", [None, 7, ["x"], {"a": 1}])
    def test_a_patch_of_odd_values_changes_nothing(self, title: object) -> None:
        page = snapshot()
        record = {"id": str(page.pk), "title": title, "status": "sealed", "owner": None}
        assert Snapshot.from_jsonl(record, {"snapshot": page}) == page  # type: ignore[arg-type]
        assert (again(page).title, again(page).status) == ("", "queued")

    @pytest.mark.parametrize(("given", "kept"), [(0, 0), (404, 404), (1000, 0), (-1, 0), (True, 0), ("9", 0)])
    def test_a_number_is_within_its_bounds(self, given: object, kept: int) -> None:
        page = snapshot()
        Snapshot.from_jsonl({"id": str(page.pk), "http_status": given}, {"snapshot": page})  # type: ignore[dict-item]
        assert again(page).http_status == kept

    def test_a_quality_is_measured_and_no_hook_says_it(self) -> None:
        page = snapshot()
        Snapshot.from_jsonl({"id": str(page.pk), "quality": 100}, {"snapshot": page})
        assert again(page).quality is None

    def test_a_patch_of_another_is_refused(self) -> None:
        page, other = snapshot(), snapshot("https://example.com/other")
        assert Snapshot.from_jsonl({"id": str(other.pk), "title": "x"}, {"snapshot": page}) is None
        assert again(other).title == ""


class TestTags:
    def test_one_row_per_name_whatever_its_case(self) -> None:
        assert Tag.named("News") == Tag.named("  news ")
        assert Tag.named("") is None
        assert Tag.named("!!") is None
        names = ["C", "C++", "C#", "node.js", "nodejs", "日本", "a b"]
        tags = [Tag.named(name) for name in names]
        assert len({tag.pk for tag in tags if tag}) == len(names)
        assert [tag.name for tag in tags if tag] == names
        assert Tag.named("c++") == tags[1]
        assert len(str(getattr(Tag.named("x" * 300), "name", ""))) == 100

    def test_split(self) -> None:
        assert split_tags(" a, b  c ,,") == ["a", "b c"]

    def test_a_hook_tags_its_own_snapshot(self) -> None:
        page = snapshot()
        tag = Tag.from_jsonl({"name": "News"}, {"snapshot": page})
        assert list(page.tags.all()) == [tag]
        assert Tag.from_jsonl({}, {"snapshot": page}) is None


class TestRetry:
    def results(self) -> tuple[Snapshot, dict[str, ArchiveResult]]:
        page = snapshot()
        kinds = [
            ("backoff", "crashed"),
            ("failed", "crashed"),
            ("failed", "declared"),
            ("failed", "missing_binary:wget"),
        ]
        kinds += [("succeeded", ""), ("started", ""), ("queued", ""), ("failed", "cancelled")]
        rows = {
            f"{status} {reason}".strip(): page.archiveresult_set.create(
                plugin=str(number), hook_name="h", status=status, reason=reason, attempts=3
            )
            for number, (status, reason) in enumerate(kinds)
        }
        arrange(Snapshot.objects.filter(pk=page.pk), status="sealed", retry_at=None)
        arrange(Crawl.objects.filter(pk=page.crawl_id), status="sealed", retry_at=None)
        return page, rows

    def test_missing_ones_are_due_and_their_owners_look(self) -> None:
        page, rows = self.results()
        assert ArchiveResult.objects.filter(RETRIABLE).count() == 3
        assert retry_missing(Snapshot.objects.filter(pk=page.pk)) == 3
        for result in rows.values():
            result.refresh_from_db()
        queued = {name for name, result in rows.items() if result.status == "queued"}
        assert queued == {"backoff crashed", "failed crashed", "failed missing_binary:wget", "queued"}
        assert rows["failed crashed"].attempts == 0
        assert rows["failed crashed"].retry_at is not None
        assert again(page).retry_at is not None
        assert again(page).status == "sealed"  # its worker reopens it
        assert Crawl.objects.get(pk=page.crawl_id).retry_at is not None

    def test_a_program_that_came(self) -> None:
        _, rows = self.results()
        assert retry_program("curl") == 0
        assert retry_program("wget") == 1
        rows["failed missing_binary:wget"].refresh_from_db()
        assert (rows["failed missing_binary:wget"].status, rows["failed missing_binary:wget"].reason) == ("queued", "")

    def test_what_runs_is_left_to_its_worker(self) -> None:
        page, rows = self.results()
        assert retry_results(page.archiveresult_set.filter(status__in=["started", "queued"])) == 0
        rows["started"].refresh_from_db()
        assert rows["started"].status == "started"

    def test_a_paused_crawl_is_not_woken(self) -> None:
        page, _ = self.results()
        arrange(Crawl.objects.filter(pk=page.crawl_id), status="paused")
        retry_missing(Snapshot.objects.filter(pk=page.pk))
        assert Crawl.objects.get(pk=page.crawl_id).retry_at is None


class TestVersions:
    def test_older_ones_go_once_the_new_one_is_archived_and_it_gets_their_notes(self) -> None:
        first, second = snapshot(), snapshot()
        Note.objects.create(snapshot=first, text="mine")
        replace_older(second)
        ArchiveResult.objects.create(snapshot=second, plugin="dom", status="succeeded", output_files={"dom.html": {}})
        for http_status in (404, 200):
            assert set(Snapshot.objects.kept()) == {first, second}, "not by what is nothing, or an error page"
            arrange(Snapshot.objects.filter(pk=second.pk), status="sealed", http_status=http_status)
            replace_older(again(second))
        assert list(Snapshot.objects.kept()) == [second]
        assert [note.text for note in second.note_set.all()] == ["mine"]


class TestControl:
    def test_without_a_holder_the_asker_acts(self) -> None:
        page = snapshot()
        assert pause(page)
        assert (again(page).status, again(page).retry_at) == ("paused", None)
        assert not pause(page)
        assert resume(page)
        assert again(page).status == "queued"
        assert again(page).retry_at is not None
        assert cancel(page)
        assert (again(page).status, again(page).reason, again(page).retry_at) == ("cancelled", "cancelled", None)
        assert not cancel(page)

    @pytest.mark.parametrize(("ask", "request_"), [(pause, Request.PAUSE), (cancel, Request.CANCEL)])
    def test_with_a_holder_a_request_is_left(self, ask: object, request_: Request) -> None:
        page = leased(snapshot())
        page.transition("start")
        assert ask(page)  # type: ignore[operator]
        assert (again(page).status, again(page).request, again(page).owner) == ("started", request_, page.owner)

    def test_resume_takes_back_a_pause_that_nobody_carried_out(self) -> None:
        page = leased(snapshot())
        assert pause(page)
        assert resume(page)
        assert again(page).request == ""
        assert not resume(page)

    def test_crawls(self) -> None:
        one = crawl()
        assert pause(one)
        assert resume(one)
        assert Crawl.objects.get(pk=one.pk).status == "queued"
        assert cancel(one)
        assert Crawl.objects.get(pk=one.pk).retry_at is not None  # its Snapshots are to follow
        arrange(Crawl.objects.filter(pk=one.pk), status="sealed")
        assert not cancel(one)
