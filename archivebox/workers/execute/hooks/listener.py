"""Owns the streams of a hook that runs: hands over the records in them, and gives back what is beyond their cap."""

import logging
from functools import partial
from typing import TYPE_CHECKING

from archivebox.contract.records import EndReason
from archivebox.workers.execute.hooks.capped_log import CappedLog
from archivebox.workers.execute.hooks.output import HookOutput

if TYPE_CHECKING:
    from archivebox.workers.execute.hooks.process import HookProcess

log = logging.getLogger(__name__)


class OutputListener:
    """Reads one hook's stdout, a chunk at a time, and caps its stderr."""

    def __init__(self, process: "HookProcess", files: str) -> None:
        self._process, self._engine = process, process.engine
        self.output = HookOutput(f"{files}stdout.log", process.call.output_max)
        self.errors = CappedLog(f"{files}stderr.log", process.call.output_max)
        self._is_held = False
        self._discards = False

    def attend(self) -> None:
        """Read it while it is written, beginning with what is there already."""
        outputs = self._engine.outputs
        try:
            outputs.watch(self.output.path, self.read, at_once=self._process.hook.ready)
            outputs.watch(self.errors.path, self._cap_errors, at_once=False)
        except OSError as error:  # it was quick to do away with its own log
            name = self._process.hook.file_name
            log.warning("The output of %s is read at its end: %s action=output_unwatched", name, error)
        self._engine.loop.call_soon(self.read)

    def stop_at_end(self) -> None:
        """Its hook has ended: read no more than is there now, whatever others may still write to its streams."""
        self._engine.outputs.unwatch(self.output.path)
        self._engine.outputs.unwatch(self.errors.path)
        self.output.ends_here()

    def pause(self) -> None:
        """Read nothing until :meth:`resume`."""
        self._is_held = True

    def resume(self) -> None:
        self._is_held = False
        self.read()

    def read(self) -> None:
        """Read what is new, a chunk at a time; once its hook has ended, to the end of it."""
        if self._is_held or self._process.ended:
            return
        chunk = self.output.read()
        is_written = self._process.on_records(chunk.records)
        if self.output.is_beyond_cap and not self._discards:
            self._discard_read()
        if chunk.more:
            self.pause()
            if is_written:  # no more in memory, or in one transaction, than a chunk
                self._engine.journal.after_commit(self.resume, at_once=True)
            else:
                self._engine.loop.call_soon(self.resume)  # let others have their turn
        elif self._process.row.status is not None:
            self._process.on_output_read()

    def close(self) -> None:
        """All is read and on its way to the database."""
        self.errors.discard_unread()
        self.errors.close()
        if self.output.is_beyond_cap:
            self._engine.journal.after_commit(partial(self._has_kept, self.output.size))
        else:
            self.output.log.close()

    def _discard_read(self) -> None:
        """Give back the disk of what was read beyond the cap, once what was said in it is on record."""
        self._discards = True
        self._process.owner.hook_printed(self._process, [])
        self._engine.journal.after_commit(partial(self._has_kept, self.output.size))

    def _has_kept(self, upto: int) -> None:
        self._discards = False
        self.output.log.discard(upto)
        self._check_overflow(self.output.log)
        if self._process.ended:
            self.output.log.close()

    def _cap_errors(self) -> None:
        self.errors.discard_unread()
        self._check_overflow(self.errors)

    def _check_overflow(self, log: CappedLog) -> None:
        if log.overflows:
            self._process.stop(EndReason.SIGNALLED, 0.0)
