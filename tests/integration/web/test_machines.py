"""Machines say whether they work: one that works alone gives no sign of life, and is there all the same."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from archivebox.accounts.models import AuditEntry
from archivebox.machine.models import Machine
from tests.webserver.markup import page_of

pytestmark = [pytest.mark.usefixtures("pages", "collection"), pytest.mark.database]


def test_the_machine_that_serves_the_page_is_working_and_a_lost_one_offline() -> None:
    here, long_ago = Machine.current(), timezone.now() - timedelta(days=3)
    lost = Machine.objects.create(hostname="attic", seen_at=long_ago)
    Machine.objects.filter(pk=here.pk).update(seen_at=long_ago)
    client = Client(SERVER_NAME="localhost")
    client.force_login(User.objects.create_superuser("ada"))
    states = [re.search(r'<span class="badge[^"]*">(\w+)<', page_of(client.get(f"/machines/{pk}/")))
              for pk in (here.pk, lost.pk)]  # fmt: skip
    assert [state and state[1] for state in states] == ["working", "offline"]
    here.drain(timedelta(hours=1))
    page = client.get(f"/machines/{here.pk}/").content.decode()
    assert ">draining<" in page
    assert "gives back what it still works on" in page
    here.resume()
    rows = dict(
        re.findall(r"<th[^>]*><a[^>]*>([^<]*)</a></th><td><span[^>]*>(\w+)<", page_of(client.get("/machines/")))
    )
    assert (rows["attic"], len(rows)) == ("offline", 2)
    assert "working" in rows.values()


def test_an_administrator_drains_resumes_and_removes_a_machine() -> None:
    lost = Machine.objects.create(hostname="attic", seen_at=timezone.now() - timedelta(days=3))
    here = Machine.current()
    client = Client(SERVER_NAME="localhost")
    client.force_login(User.objects.create_superuser("ada"))
    assert 'value="drain"' in page_of(client.get(f"/machines/{here.pk}/"))
    client.post(f"/machines/{here.pk}/change/", {"change": "drain"})
    assert Machine.objects.get(pk=here.pk).drain_by is not None
    assert 'value="resume"' in page_of(client.get(f"/machines/{here.pk}/"))
    client.post(f"/machines/{here.pk}/change/", {"change": "resume"})
    assert Machine.objects.get(pk=here.pk).drain_by is None
    refused = page_of(client.post(f"/machines/{here.pk}/change/", {"change": "remove"}, follow=True))
    assert "Drain it and stop ArchiveBox there" in refused
    listed = page_of(client.post(f"/machines/{lost.pk}/change/", {"change": "remove"}, follow=True))
    assert "attic is removed" in listed
    assert f"/machines/{lost.pk}/" not in listed
    assert "listed again when it works again" in page_of(client.get(f"/machines/{lost.pk}/"))
    assert list(AuditEntry.objects.order_by("pk").values_list("action", flat=True))[-3:] == [
        "machine.drained", "machine.resumed", "machine.removed",
    ]  # fmt: skip


def test_others_are_offered_no_change_of_a_machine() -> None:
    here = Machine.current()
    client = Client(SERVER_NAME="localhost")
    client.force_login(User.objects.create_user("eve", is_staff=False))
    assert client.post(f"/machines/{here.pk}/change/", {"change": "drain"}).status_code == 403
    assert Machine.objects.get(pk=here.pk).drain_by is None
