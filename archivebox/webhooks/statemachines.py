"""The life of a Delivery."""

from typing import ClassVar

from statemachine import State

from archivebox.base_models.work import RELEASE_COLUMNS, REQUEUE_COLUMNS, WorkMachine


class DeliveryMachine(WorkMachine):
    """queued, for as long as it is tried, → succeeded or failed; and queued again by somebody who sends it again."""

    queued = State(initial=True)
    succeeded = State()
    failed = State()

    succeed = queued.to(succeeded)
    fail = queued.to(failed)
    requeue = succeeded.to(queued) | failed.to(queued)

    columns: ClassVar[dict[str, dict[str, object]]] = {
        "succeed": RELEASE_COLUMNS,
        "fail": RELEASE_COLUMNS,
        "requeue": {**REQUEUE_COLUMNS, "tries": 0},
    }
