"""What passes by itself is waited for, and on a connection of its own each time."""

import pytest
from django.db import DatabaseError, connection, transaction

from archivebox.base_models import patience
from archivebox.base_models.patience import READ_ONLY, patiently
from archivebox.core.models import Tag

pytestmark = [pytest.mark.usefixtures("collection"), pytest.mark.django_db(transaction=True), pytest.mark.database]


@pytest.mark.skipif(connection.vendor != "postgresql", reason="says so in an error of a kind of its own")
def test_a_standby_that_has_not_taken_over_yet_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = on")  # of this connection, as all are to a standby
    monkeypatch.setattr(patience, "TRY_EVERY", 0.0)
    told: list[str] = []
    patiently(lambda: Tag.objects.create(name="written"), tell=told.append)
    assert told == [READ_ONLY]


def test_any_other_error_is_nothing_to_wait_for() -> None:
    def refuse() -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT * FROM nothing_of_ours")

    with pytest.raises(DatabaseError, match="nothing_of_ours"):
        patiently(refuse)
