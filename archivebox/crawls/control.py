"""What people may ask of a Crawl or a Snapshot while it waits or runs: pause, resume, cancel."""

from django.db import connection

from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.transitions import TransitionRefusedError
from archivebox.base_models.wakeups import notify_workers
from archivebox.base_models.work import Request, WorkItem

ASKED = {"pause": Request.PAUSE, "cancel": Request.CANCEL}


def pause(item: WorkItem) -> bool:
    """Stop without losing anything; what runs goes back to the queue. False when there is nothing to pause."""
    return _ask(item, "pause")


def resume(item: WorkItem) -> bool:
    """Let a paused item go on."""
    return _ask(item, "resume")


def cancel(item: WorkItem) -> bool:
    """End it for good; what is final stays. False when it had ended already."""
    return _ask(item, "cancel")


def _ask(item: WorkItem, event: str) -> bool:
    """Only the holder of the lease changes a leased row: the asker acts itself where nobody holds it."""
    with write_transaction():
        rows = type(item)._default_manager
        current = (rows.select_for_update() if _locks_rows() else rows).get(pk=item.pk)
        done = _request(current, event) if current.owner is not None else _carry_out(current, event)
        notify_workers()
    item.refresh_from_db()
    return done


def _request(item: WorkItem, event: str) -> bool:
    if event == "resume" and item.request == Request.PAUSE:
        return item.ask(Request.NONE)  # nobody has paused it yet
    return event in ASKED and item.ask(ASKED[event])


def _carry_out(item: WorkItem, event: str) -> bool:
    try:
        item.transition(event)
    except TransitionRefusedError:
        return False
    return True


def _locks_rows() -> bool:
    return bool(connection.features.has_select_for_update)
