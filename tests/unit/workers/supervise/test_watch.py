"""Who waits for work goes on waiting, whatever passes by itself."""

import pytest
from django.db import OperationalError

from archivebox.base_models.transient import transient_problem
from archivebox.workers.supervise.watch import OrchestratorWatch
from tests.factories import row

AWAY = OperationalError("database or disk is full")


class Impatient(OrchestratorWatch):
    """A watch that does not sleep, and cannot put on record that its orchestrator has died: not the first time."""

    tries = 0

    def _sleep(self, seconds: float) -> None:
        del seconds

    def keep_orchestrator(self) -> None:
        self.tries += 1
        if self.tries == 1:
            raise AWAY


@pytest.mark.usefixtures("transactional_db", "collection")
def test_an_orchestrator_that_dies_while_the_database_is_away_is_replaced_afterwards() -> None:
    told: list[str] = []
    watch = Impatient(row(process_type="cli"), tell=told.append)
    watch.wait(lambda: watch.tries == 2)
    watch._close()
    assert told == [transient_problem(AWAY)]
