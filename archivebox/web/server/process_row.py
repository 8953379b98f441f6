"""Owns the web server's row: its begin, its end, and the processes whose end it follows."""

from collections.abc import Iterator
from contextlib import contextmanager

from archivebox.base_models.rows import new_id
from archivebox.config.collection import open_collection
from archivebox.lib.processes import ProcessIdentity
from archivebox.machine.process import Process


@contextmanager
def recorded() -> Iterator[list[ProcessIdentity]]:
    """Begin our row, and end it on every way out that lets us; yields supervisord's and the cli's identity.

    An earlier web server that was killed could not write down its own end: that is done here.
    """
    open_collection(create=False)
    for earlier in Process.objects.here().running().filter(worker_type="web"):
        earlier.poll()
    row = Process.begin(new_id(), process_type=Process.TypeChoices.WORKER, worker_type="web")
    try:
        yield [parent.identity for parent in row.ancestors if parent.identity is not None]
    except BaseException as error:
        row.finish(1, f"{type(error).__name__}: {error}")
        raise
    row.finish(0)
