import subprocess
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from archivebox.base_models.rows import new_id
from archivebox.lib.jsonl import JSON
from archivebox.lib.processes import ExitJournal, ExitStatus, ProcessIdentity
from archivebox.machine.models import Machine, Process
from archivebox.machine.statemachines import ProcessMachine
from archivebox.storage.layout import DataFolder
from tests.factories import again, row, shell

pytestmark = pytest.mark.usefixtures("collection")


class TestWords:
    def test_querysets(self) -> None:
        hook = row(process_type="hook", status="running", snapshot_id=new_id())
        done = row(process_type="binary", status="exited", exit_code=0)
        failed = row(process_type="binary", status="exited", exit_code=1)
        lost = row(process_type="binary", status="exited", exit_code=None)
        far = Process.objects.create(machine=Machine.objects.create(hostname="far"))
        every = Process.objects.all()
        assert set(every.running()) == {hook}
        assert set(every.exited()) == {done, failed, lost}
        assert set(every.failed()) == {failed, lost}
        assert set(every.of_type("hook", "worker")) == {hook}
        assert set(every.on(far.machine)) == {far}
        assert far not in set(every.here())
        assert set(every.serving(snapshot_id=hook.snapshot_id)) == {hook}

    @pytest.mark.once
    @pytest.mark.parametrize(
        ("column", "index"), [("crawl_id", "process_of_crawl"), ("parent_id", "process_of_parent")]
    )
    def test_those_of_a_crawl_or_a_parent_are_listed_by_an_index_in_their_order(self, column: str, index: str) -> None:
        plan = Process.objects.filter(**{column: new_id()}).order_by("-pk")[:51].explain()
        assert index in plan
        assert "TEMP B-TREE" not in plan

    def test_get_by_pid_is_exact(self) -> None:
        running = shell("exec sleep 60").launch(background=True)
        assert running.pid is not None
        assert running.start_ticks is not None
        found = Process.objects.get_by_pid(running.pid)
        assert found is not None
        assert found.pk == running.pk
        assert Process.objects.get_by_pid(running.pid, machine=Machine.objects.create()) is None
        Process.objects.filter(pk=running.pk).update(start_ticks=running.start_ticks - 1)
        assert Process.objects.get_by_pid(running.pid) is None  # a stranger has the pid now
        assert Process.objects.get_by_pid(2**22 + 1) is None

    def test_summary_is_fifty_characters(self) -> None:
        assert row(cmd=["wget", "x"]).cmd_summary == "wget x"
        assert row(cmd=["x" * 80]).cmd_summary == "x" * 50 + "…"
        hook: dict[str, Any] = {"plugin": "title", "hook_name": "on_Snapshot__54_title.py"}
        cmd = ["python3", "/somewhere/title/on_Snapshot__54_title.py", "--depth=0"]
        assert row(**hook, cmd=cmd).cmd_summary == "title/on_Snapshot__54_title.py --depth=0"
        assert row(**hook, cmd=["wget", "x"]).cmd_summary == "wget x", "a program that a hook has started"

    def test_the_table_of_transitions(self) -> None:
        states = ("queued", "running", "exited")
        for name, line in ProcessMachine.transitions().items():
            for state in states:
                one = row(status=state)
                moved = Process.objects.filter(pk=one.pk).transition(name)
                assert moved == (state in line.sources), name
                assert again(one).status == (line.target if moved else state)

    def test_the_indexes_are_there(self) -> None:
        with connection.cursor() as cursor:
            found = connection.introspection.get_constraints(cursor, Process._meta.db_table)
        indexed = {tuple(one["columns"]) for one in found.values() if one["index"]}
        assert {
            ("parent_id", "status"),
            ("parent_id", "id"),
            ("process_type",),
            ("snapshot_id",),
            ("crawl_id", "id"),
            ("machine_id", "pid"),
        } <= indexed
        assert not any(one["foreign_key"] and one["columns"] == ["parent_id"] for one in found.values())


class TestTree:
    def chain(self, length: int) -> list[Process]:
        rows = [row()]
        for _ in range(length - 1):
            rows.append(row(parent=rows[-1]))
        return rows

    def test_lineage(self) -> None:
        root, middle, leaf = self.chain(3)
        sibling = row(parent=middle)
        assert leaf.ancestors == [middle, root]
        assert leaf.root == root
        assert root.root == root
        assert [item.depth for item in (root, middle, leaf)] == [0, 1, 2]
        assert set(middle.children.all()) == {leaf, sibling}
        assert set(root.get_descendants()) == {middle, leaf, sibling}
        assert set(root.get_descendants(include_self=True)) == {root, middle, leaf, sibling}
        tree = root.get_tree()
        assert tree[:2] == [root, middle]
        assert set(tree[2:]) == {leaf, sibling}
        assert middle.get_tree()[0] == middle

    def test_one_query_each(self, django_assert_num_queries: object) -> None:
        *_, leaf = self.chain(10)
        with django_assert_num_queries(1):  # type: ignore[operator]
            assert len(leaf.ancestors) == 9
        with django_assert_num_queries(1):  # type: ignore[operator]
            assert len(leaf.get_tree()) == 1

    def test_a_missing_parent_ends_it(self) -> None:
        orphan = row()
        Process.objects.filter(pk=orphan.pk).update(parent_id=new_id())
        orphan.refresh_from_db()
        child = row(parent=orphan)
        assert child.ancestors == [orphan]
        assert child.root == orphan
        assert orphan.depth == 0

    def test_a_cycle_ends(self) -> None:
        first, second = self.chain(2)
        Process.objects.filter(pk=first.pk).update(parent_id=second.pk)
        assert again(second).ancestors == [first]
        assert set(again(second).get_descendants()) <= {first, second}
        assert {item.pk for item in again(first).get_tree()} == {first.pk, second.pk}
        assert len(again(first).get_tree()) == 2

    def test_depth_stops_at_64(self) -> None:
        rows = self.chain(70)
        assert rows[-1].depth == 64
        assert len(rows[0].get_tree()) == 65


class TestStale:
    def test_only_rows_whose_process_is_gone_are_closed(self) -> None:
        old = timezone.now() - timedelta(days=400)
        running = shell("exec sleep 60").launch(background=True)
        Process.objects.filter(pk=running.pk).update(started_at=old)
        dead = row()
        dead.set_identity(ProcessIdentity.current()._replace(start_ticks=1))
        dead.save()
        assert Process.cleanup_stale_running() == 1
        assert Process.cleanup_stale_running() == 0
        assert again(running).status == "running"
        assert (again(dead).status, again(dead).exit_code, again(dead).end_reason) == ("exited", None, "lost")
        assert again(dead).ended_at is not None

    def test_what_cannot_be_seen_from_here_is_not_judged(self) -> None:
        """A container works on the same data folder: its processes are of another pid namespace."""
        hidden = row()
        hidden.set_identity(ProcessIdentity.current()._replace(pid_ns=1, start_ticks=1))
        hidden.save()
        assert Process.cleanup_stale_running() == 0
        assert hidden.poll() is None
        assert hidden.proc is None
        assert not hidden.kill()
        assert not hidden.terminate()
        assert again(hidden).status == "running"

    def test_the_journal_of_exits_knows_better_than_lost(self, collection: DataFolder) -> None:
        dead = row()
        dead.set_identity(ProcessIdentity.current()._replace(start_ticks=1))
        dead.save()
        assert dead.identity is not None
        ExitJournal(collection.exits).write(dead.identity, ExitStatus(-9))
        assert Process.cleanup_stale_running() == 1
        assert (again(dead).exit_code, again(dead).end_reason) == (-9, "signalled")

    def test_a_row_of_another_boot_is_gone(self) -> None:
        old = row()
        old.set_identity(ProcessIdentity.current()._replace(boot_id="another boot"))
        old.save()
        assert Process.cleanup_stale_running() == 1


class TestRecords:
    """What a hook reports of the programs it ran."""

    def hook(self) -> Process:
        hook = row(
            process_type="hook", plugin="wget", snapshot_id=new_id(), crawl_id=new_id(), archiveresult_id=new_id()
        )
        hook.set_identity(ProcessIdentity.current())
        hook.save()
        return hook

    def test_start_and_end_are_one_row(self) -> None:
        hook, key = self.hook(), str(new_id())
        start: dict[str, JSON] = {
            "id": key,
            "cmd": ["wget", "https://example.com"],
            "pwd": "/x",
            "pid": 4_000_000,
            "started_at": 1_700_000_000,
        }
        running = Process.from_jsonl(start, {"process": hook})
        assert running is not None
        assert (running.status, running.parent_id, running.process_type) == ("running", hook.pk, "binary")
        end: dict[str, JSON] = {"id": key, "cmd": ["wget"], "exit_code": 8, "ended_at": "2023-11-14T22:13:30Z"}
        ended = Process.from_jsonl(end, {"process": hook})
        assert ended is not None
        assert ended.pk == running.pk
        kept = again(ended)
        assert (kept.status, kept.exit_code, kept.end_reason, kept.pid) == ("exited", 8, "exited", 4_000_000)
        assert kept.seconds == 10.0
        assert (kept.snapshot_id, kept.crawl_id, kept.plugin) == (hook.snapshot_id, hook.crawl_id, "wget")
        assert hook.children.count() == 1
        assert Process.from_jsonl(start, {"process": hook}) is not None
        kept.refresh_from_db()
        assert (kept.status, kept.exit_code) == ("exited", 8), "a record that is read twice reopens nothing"

    def test_a_program_that_its_hook_ended_has_not_failed(self) -> None:
        end: dict[str, JSON] = {"cmd": ["chromium"], "exit_code": -9}
        ended = [
            Process.from_jsonl({"id": str(new_id()), **end, **reason}, {"process": self.hook()})
            for reason in ({}, {"end_reason": "sealed"}, {"end_reason": "cancelled"})
        ]
        assert [row and again(row).end_reason for row in ended] == ["signalled", "sealed", "signalled"]

    def test_a_live_program_is_known_by_its_start(self) -> None:
        hook = self.hook()
        with subprocess.Popen(["sleep", "60"]) as child:
            reported = Process.from_jsonl({"cmd": ["sleep"], "pid": child.pid}, {"process": hook})
            assert reported is not None
            assert reported.identity == ProcessIdentity.of(child.pid)
            assert Process.cleanup_stale_running() == 0
            child.kill()
        assert Process.cleanup_stale_running() == 1

    def test_a_hook_speaks_only_of_what_it_started(self) -> None:
        hook, other = self.hook(), row(cmd=["mine"])
        assert Process.from_jsonl({"id": str(other.pk), "cmd": ["evil"], "exit_code": 0}, {"process": hook}) is None
        assert again(other).cmd == ["mine"]
        assert Process.from_jsonl({"cmd": ["x"]}, {}) is None

    @pytest.mark.parametrize(
        "odd",
        [
            {"pid": "many", "cmd": "wget x", "exit_code": True},
            {"pid": 10**18, "exit_code": 1e30, "started_at": "yesterday", "pwd": "p" * 5000},
            {"pid": None, "cmd": [1, None], "started_at": 1e300, "ended_at": {"at": 1}, "id": "not-an-id"},
        ],
    )
    def test_odd_records_are_taken_as_far_as_they_make_sense(self, odd: dict[str, JSON]) -> None:
        reported = Process.from_jsonl(odd, {"process": self.hook()})
        assert reported is not None
        assert again(reported).pid is None
