import os
import sys
from pathlib import Path

import psutil
import pytest

from archivebox.base_models.rows import new_id
from archivebox.lib.processes import ProcessIdentity
from archivebox.machine.logtail import TAIL
from archivebox.machine.models import Process
from tests.factories import again, row

pytestmark = pytest.mark.usefixtures("collection")


class TestCurrent:
    def test_made_once_with_the_real_command_line(self) -> None:
        mine = Process.current()
        assert Process.current() is mine
        assert Process.objects.current() is mine
        assert Process.objects.count() == 1
        assert (mine.pid, mine.status) == (os.getpid(), "running")
        assert mine.cmd == psutil.Process().cmdline()
        assert mine.pwd == str(Path.cwd())
        assert mine.process_type == "binary"  # pytest is no command of ours

    def test_found_again_by_identity_when_the_cache_is_empty(self) -> None:
        mine = Process.current()
        Process.objects.filter(pk=mine.pk).update(worker_type="kept")
        from_database = Process.objects.get_by_pid(os.getpid())
        assert from_database is not None
        assert from_database.worker_type == "kept"

    def test_parent_is_who_the_environment_names(self, monkeypatch: pytest.MonkeyPatch) -> None:
        starter = row()
        monkeypatch.setenv("ARCHIVEBOX_PROCESS_ID", str(starter.pk))
        assert Process.current().parent == starter

    @pytest.mark.parametrize("named", [None, "not-a-uuid"])
    def test_parent_is_the_first_ancestor_with_a_row(self, named: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
        if named:
            monkeypatch.setenv("ARCHIVEBOX_PROCESS_ID", named)
        ancestors = psutil.Process().parents()
        assert ancestors
        identity = ProcessIdentity.of(ancestors[-1].pid)
        assert identity is not None
        shell_of_ours = row()
        shell_of_ours.set_identity(identity)
        shell_of_ours.save()
        assert Process.current().parent == shell_of_ours

    @pytest.mark.parametrize(
        ("argv", "kind"),
        [
            (["/usr/bin/archivebox", "add", "https://example.com/worker"], "cli"),
            (["/srv/archivebox/__main__.py", "list"], "cli"),
            (["/home/worker/venv/bin/archivebox", "add"], "cli"),
            (["/srv/archivebox/__main__.py", "orchestrator", "--wait"], "orchestrator"),
            (["/usr/bin/archivebox", "worker"], "worker"),
            (["/srv/archivebox/workers/supervisord_main.py", "-c", "x"], "supervisord"),
            (["/usr/bin/wget"], "binary"),
        ],
    )
    def test_type_by_program_and_command(self, argv: list[str], kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "argv", argv)
        assert Process.current().process_type == kind

    def test_begin_and_finish_record_ones_own_life(self) -> None:
        key = new_id()
        mine = Process.begin(key, process_type="orchestrator")
        assert Process.current() is mine
        assert (mine.pk, again(mine).process_type, again(mine).status) == (key, "orchestrator", "running")
        mine.finish(1, "x" * 5000)
        kept = again(mine)
        assert (kept.status, kept.exit_code, kept.end_reason) == ("exited", 1, "exited")
        assert kept.stderr == "x" * TAIL
        assert kept.ended_at is not None

    def test_begin_takes_over_the_row_that_its_starter_made(self) -> None:
        starter = row()
        prepared = row(parent=starter, process_type="worker", cmd=["archivebox", "worker"])
        mine = Process.begin(prepared.pk, worker_type="worker")
        assert mine.pk == prepared.pk
        kept = again(mine)
        assert (kept.parent_id, kept.cmd, kept.pid) == (starter.pk, ["archivebox", "worker"], os.getpid())
        assert (kept.status, kept.worker_type) == ("running", "worker")
