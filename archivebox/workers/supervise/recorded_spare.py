"""What a command has started ahead for its crawl: put on record, lent to the orchestrator, ended with the command."""

from pathlib import Path
from typing import Self
from uuid import UUID

from archivebox.base_models.transient import retry_transient
from archivebox.config.settings import DATA_FOLDER
from archivebox.contract.records import EndReason, program_records
from archivebox.machine.host import Machine
from archivebox.machine.process import Process
from archivebox.machine.process_row import exited_columns
from archivebox.workers import early_spare
from archivebox.workers.early_spare import NOT_WANTED, EarlySpare


class RecordedSpare:
    """The process, and its row, which is there before anybody could use it."""

    def __init__(self, spare: EarlySpare, parent: Process) -> None:
        self._spare = spare
        recipe = spare.recipe
        self._has_ended = self._is_unwanted = False
        self._row = row = Process(
            id=UUID(spare.process_id),
            machine=Machine.current(),
            parent=parent,
            process_type=Process.TypeChoices.WORKER,
            worker_type="spare",
            plugin=Path(recipe.hook).parent.name,
            hook_name=Path(recipe.argv[-1]).name,
            cmd=recipe.argv,
            pwd=recipe.folder,
            started_at=spare.started_at,
        )
        row.set_identity(spare.child.identity)
        row.save(force_insert=True)

    @classmethod
    def of_command(cls, parent: Process) -> Self | None:
        """The one that this command has started, if it has."""
        spare = early_spare.claim()
        return None if spare is None else cls(spare, parent)

    def hand_over(self) -> EarlySpare | None:
        """It, for the orchestrator that is to be forked; None where a former one has had it."""
        return self._spare if self._spare.is_held else None

    def poll(self) -> bool:
        """Put its end on record once it has ended; whether it has."""
        seen = None if self._has_ended else self._spare.child.peek()
        if seen is not None:
            self._has_ended = True
            self._is_unwanted = seen.exit_code == NOT_WANTED
            reason = EndReason.SEALED if seen.exit_code in {0, NOT_WANTED} else None
            rows = Process.objects.running().filter(pk=self._spare.process_id)
            retry_transient(lambda: rows.transition("end", **exited_columns(seen, reason)))
            retry_transient(self._record_programs)
            self._spare.child.reap()
        return self._has_ended

    def _record_programs(self) -> None:
        """The worker that had it has read what it printed until the crawl had ended; its programs end after that."""
        output = self._spare.stdout.read_bytes() if self._spare.stdout.exists() else b""
        for record in program_records(output):
            Process.from_jsonl(record.fields, {"process": self._row})

    def end(self) -> None:
        """Wait until it has ended, which it does once nobody has it; what takes long is killed."""
        if not self.poll():
            self._spare.end()
            self.poll()
        self._spare.forget_output()
        if self._is_unwanted:
            self._spare.recipe.unwanted.write(early_spare.recipe_path(DATA_FOLDER.root))
