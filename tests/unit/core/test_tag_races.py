"""A tag that is deleted at the moment in which it is put on a page costs nobody anything else."""

from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import pytest
from django.db import connections

from archivebox.base_models.transactions import write_transaction
from archivebox.core.models import Snapshot, Tag
from archivebox.core.tags.assign_tags import tag
from tests.collection import somebody_waits
from tests.factories import snapshot
from tests.integration.engine.driver import wait_for

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("transactional_db", "collection")]


def put(key: UUID) -> None:
    """What a worker does with what a hook printed."""
    with write_transaction():
        tag([key], ["fleeting"])
        Snapshot.objects.filter(pk=key).update(title="kept")


def test_it_is_made_again_by_who_puts_it_on_while_it_is_deleted() -> None:
    page, gone = snapshot(), Tag.objects.create(name="fleeting", slug="fleeting")
    with ThreadPoolExecutor(max_workers=1) as others:
        with write_transaction():
            gone.delete()
            putting = others.submit(put, page.pk)
            wait_for("who puts it on", somebody_waits)
        putting.result()
        others.submit(connections.close_all).result()
    page.refresh_from_db()
    assert (page.title, [one.name for one in page.tags.all()]) == ("kept", ["fleeting"])


def test_who_deletes_it_waits_for_who_puts_it_on_and_takes_it_off() -> None:
    page, fleeting = snapshot(), Tag.objects.create(name="fleeting", slug="fleeting")
    with ThreadPoolExecutor(max_workers=1) as others:
        with write_transaction():
            put(page.pk)
            deleting = others.submit(fleeting.delete)
            wait_for("who deletes it", somebody_waits)
        deleting.result()
        others.submit(connections.close_all).result()
    page.refresh_from_db()
    assert (page.title, page.tags.count(), Tag.objects.count()) == ("kept", 0, 0)
