import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence

import pytest
from django.db import IntegrityError, connections

from archivebox.base_models.rows import new_id
from archivebox.contract.records import EndReason
from archivebox.core.models import ArchiveResult, Snapshot, Tag
from archivebox.lib.jsonl import JSON
from archivebox.machine.models import Machine, Process
from archivebox.storage.layout import DataFolder
from archivebox.workers.execute.journal import Batch, Change, Effect, Journal, commit
from archivebox.workers.queue.lease import Lease
from tests.factories import leased, snapshot

pytestmark = [pytest.mark.usefixtures("transactional_db", "collection")]


def holder_of(page: Snapshot) -> Lease:
    assert page.owner is not None
    return Lease(Snapshot, page.pk, page.owner, page.fence)


def during(work: Callable[[Journal], Awaitable[None]]) -> None:
    """Run ``work`` with a journal of its own, and close it."""

    async def main() -> None:
        journal = Journal(asyncio.get_running_loop())
        try:
            await work(journal)
        finally:
            await journal.close()

    asyncio.run(main())


@pytest.fixture(autouse=True)
def _machine(collection: DataFolder) -> Iterator[None]:  # noqa: ARG001 - its folder comes first
    """Known before a loop runs: no row is read on its thread."""
    Machine.current()
    yield
    connections.close_all()


def started(**more: object) -> dict[str, object]:
    return {"machine_id": Machine.current().pk, "status": "running", "cmd": ["wget", "ü"], **more}


class TestRows:
    def test_a_final_result_that_runs_again_in_one_batch_goes_through_the_queue(self) -> None:
        """The triggers of this database refuse any other way."""
        result = ArchiveResult.objects.create(snapshot=snapshot(), plugin="a", hook_name="a", status="failed")

        async def work(journal: Journal) -> None:
            for status in ("queued", "started", "queued", "succeeded"):
                journal.update(ArchiveResult, result.pk, {"status": status, "reason": status})
            await journal.flush()

        during(work)
        result.refresh_from_db()
        assert (result.status, result.reason) == ("succeeded", "succeeded")

    def test_insert_start_and_end_become_one_row(self) -> None:
        key, columns = new_id(), started(env=["A"])

        async def work(journal: Journal) -> None:
            journal.insert(Process, key, columns)
            columns["cmd"] = ["changed afterwards"]  # values are copied when they are handed in
            journal.update(Process, key, {"status": "exited", "exit_code": 0, "end_reason": EndReason.EXITED})
            await journal.flush()

        during(work)
        row = Process.objects.get(pk=key)
        assert (row.status, row.exit_code, row.end_reason) == ("exited", 0, "exited")
        assert (row.cmd, row.env, row.timeout, row.stdout) == (["wget", "ü"], ["A"], None, "")
        assert row.modified_at is not None

    def test_rows_are_as_the_orm_writes_them(self) -> None:
        page = snapshot()
        columns = {
            "snapshot_id": page.pk,
            "plugin": "x",
            "hook_name": "h",
            "output_json": {"a": [1, None, "ü"]},
            "output_files": {},
        }
        journaled, by_orm = new_id(), ArchiveResult.objects.create(**columns)
        ArchiveResult.objects.filter(pk=by_orm.pk).update(hook_name="other")
        commit(Batch(changes={(ArchiveResult, journaled): Change(ArchiveResult, journaled, True, dict(columns), None)}))
        names = [
            field.attname
            for field in ArchiveResult._meta.concrete_fields
            if field.attname not in {"id", "modified_at", "hook_name"}
        ]
        assert ArchiveResult.objects.values(*names).get(pk=journaled) == ArchiveResult.objects.values(*names).get(
            pk=by_orm.pk
        )

    @pytest.mark.parametrize("value", [None, 0, 1.5, "", "text", [], {"k": None}, True])
    def test_json_of_every_kind_comes_back(self, value: JSON) -> None:
        page = snapshot()
        result = ArchiveResult.objects.create(snapshot=page, plugin="x", hook_name="h")
        commit(
            Batch(
                changes={
                    (ArchiveResult, result.pk): Change(ArchiveResult, result.pk, False, {"output_json": value}, None)
                }
            )
        )
        result.refresh_from_db()
        assert result.output_json == value


class TestLeases:
    def test_only_the_part_of_a_lost_holder_is_dropped(self) -> None:
        lost, kept = leased(snapshot("https://example.com/lost")), leased(snapshot("https://example.com/kept"))
        gone, here, fact = holder_of(lost), holder_of(kept), new_id()
        Snapshot.objects.filter(pk=lost.pk).update(fence=lost.fence + 1)
        told: list[Lease] = []
        called: list[str] = []

        async def work(journal: Journal) -> None:
            journal.on_lost = told.append
            journal.update(Snapshot, lost.pk, {"title": "stolen"}, gone)
            journal.update(Snapshot, kept.pk, {"title": "mine"}, here)
            journal.insert(Process, fact, started())  # facts are never fenced
            journal.effect(lambda: called.append("lost"), gone)
            journal.effect(lambda: called.append("kept"), here)
            await journal.flush()

        during(work)
        assert Snapshot.objects.get(pk=lost.pk).title == ""
        assert Snapshot.objects.get(pk=kept.pk).title == "mine"
        assert Process.objects.filter(pk=fact).exists()
        assert (told, called) == ([gone], ["kept"])

    def test_a_row_that_is_gone_is_a_lost_lease(self) -> None:
        page = leased(snapshot())
        lease = holder_of(page)
        Snapshot.objects.filter(pk=page.pk).delete()
        assert commit(Batch(effects=[Effect(lease, lambda: None)])).lost == [lease]


class TestEffects:
    @pytest.mark.parametrize("error", [ValueError, TypeError, KeyError, Snapshot.DoesNotExist, OverflowError])
    def test_one_that_raises_does_not_take_the_batch_down(self, error: type[Exception]) -> None:
        key = new_id()

        def broken() -> None:
            Tag.objects.create(name="half", slug="half")
            raise error("odd record")

        async def work(journal: Journal) -> None:
            journal.insert(Process, key, started())
            journal.effect(broken)
            journal.effect(lambda: Tag.objects.create(name="whole", slug="whole"))
            await journal.flush()

        during(work)
        assert Process.objects.filter(pk=key).exists()
        assert [tag.name for tag in Tag.objects.all()] == ["whole"]

    def test_what_the_database_refuses_does_not_take_the_batch_down(self) -> None:
        key = new_id()
        Tag.objects.create(name="a", slug="a")

        async def work(journal: Journal) -> None:
            journal.insert(Process, key, started())
            journal.effect(lambda: Tag.objects.create(name="b", slug="a"))
            await journal.flush()

        during(work)
        assert Process.objects.filter(pk=key).exists()

    def test_of_records_that_are_refused_together_the_others_are_taken_alone(self) -> None:
        told: list[str] = []

        def take(names: Sequence[str]) -> None:
            for name in names:
                Tag.objects.create(name=name, slug=name)
                if name == "odd":
                    raise ValueError("odd record")

        async def work(journal: Journal) -> None:
            journal.ingest(take, ["before", "odd", "after"], on_refused=told.append)
            journal.ingest(take, ["alone"], on_refused=told.append)
            await journal.flush()

        during(work)
        assert {tag.name for tag in Tag.objects.all()} == {"before", "after", "alone"}
        assert told == ["ValueError: odd record"]

    def test_after_commit_comes_after_and_in_order(self) -> None:
        key, seen = new_id(), list[object]()

        async def work(journal: Journal) -> None:
            journal.insert(Process, key, started())
            journal.effect(lambda: seen.append("effect"))
            journal.after_commit(lambda: seen.append("after"))
            await journal.flush()
            seen.append(await journal.read(Process.objects.filter(pk=key).exists))

        during(work)
        assert seen == ["effect", "after", True]


class TestOrder:
    def test_a_read_sees_what_was_handed_in_before_it(self) -> None:
        key = new_id()
        found: list[object] = []

        async def work(journal: Journal) -> None:
            journal.insert(Process, key, started())
            found.append(await journal.read(Process.objects.filter(pk=key).exists))

        during(work)
        assert found == [True]

    def test_batches_follow_one_another(self) -> None:
        key = new_id()

        async def work(journal: Journal) -> None:
            journal.insert(Process, key, started())
            for number in range(20):
                journal.update(Process, key, {"stdout_offset": number})
                if number % 3 == 0:
                    await journal.read(lambda: None)
            await journal.flush()

        during(work)
        assert Process.objects.get(pk=key).stdout_offset == 19

    def test_close_writes_what_is_left(self) -> None:
        key = new_id()

        async def work(journal: Journal) -> None:
            journal.insert(Process, key, started())

        during(work)
        assert Process.objects.filter(pk=key).exists()

    def test_a_batch_that_cannot_be_written_is_told(self) -> None:
        broken: list[object] = []
        reaped: list[str] = []

        async def work(journal: Journal) -> None:
            journal.on_broken = broken.append
            journal.insert(Process, new_id(), started(machine_id=None))
            journal.after_commit(lambda: reaped.append("too early"))
            await journal.read(broken.append, "what waits behind it")
            await journal.flush()

        during(work)
        assert isinstance(broken[0], IntegrityError)
        assert broken[1:] == ["what waits behind it"], "the worker ends before that"
        assert reaped == []


def test_a_batch_whose_confirmation_was_lost_can_be_written_again() -> None:
    """As when the connection breaks after the commit and before its answer: the journal cannot know which it was."""
    page, process = leased(snapshot()), new_id()
    lease = holder_of(page)
    batch = Batch(
        changes={
            (Process, process): Change(Process, process, True, started(), None),
            (Snapshot, page.pk): Change(Snapshot, page.pk, False, {"title": "written", "owner": None}, lease),
        },
        effects=[Effect(lease, lambda: Tag.objects.get_or_create(name="a", slug="a"))],
    )
    assert commit(batch) == ([], [])
    assert commit(batch) == ([lease], []), "what was released with it is not ours any more"
    page.refresh_from_db()
    assert (page.title, page.owner) == ("written", None)
    assert Process.objects.filter(pk=process).count() == Tag.objects.count() == 1


def test_a_row_that_the_database_refuses_is_left_out_alone() -> None:
    """No text of a database: half of a character, as it stands in a file's name that is not UTF-8."""
    page = snapshot()
    bad, good = new_id(), new_id()

    async def work(journal: Journal) -> None:
        broken: list[Exception] = []
        journal.on_broken = broken.append
        journal.insert(Process, bad, started(plugin="caf\udce9"))
        journal.insert(Process, good, started())
        journal.update(Snapshot, page.pk, {"title": "written"})
        await journal.flush()
        assert not broken

    during(work)
    page.refresh_from_db()
    assert page.title == "written"
    assert set(Process.objects.filter(pk__in=[bad, good]).values_list("pk", flat=True)) == {good}
