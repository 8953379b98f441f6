"""The life of a Delivery."""

from typing import ClassVar

from statemachine import State

from archivebox.base_models.work import AT_ONCE, LET_GO, WorkMachine


class DeliveryMachine(WorkMachine):
    """queued, for as long as it is tried, → succeeded or failed; and queued again by somebody who sends it again."""

    queued = State(initial=True)
    succeeded = State()
    failed = State()

    succeed = queued.to(succeeded)
    fail = queued.to(failed)
    requeue = succeeded.to(queued) | failed.to(queued)

    columns: ClassVar[dict[str, dict[str, object]]] = {
        "succeed": LET_GO,
        "fail": LET_GO,
        "requeue": {**AT_ONCE, "tries": 0},
    }
