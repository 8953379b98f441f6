"""A web server beside which no worker runs follows settings that another machine has changed."""

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from archivebox.hooks import base_layers, resolve_settings
from archivebox.machine.fleet_setting import FleetSetting, change_fleet_settings
from archivebox.machine.models import Machine
from archivebox.web import middleware
from archivebox.web.middleware import FleetSettings

pytestmark = [pytest.mark.usefixtures("pages", "collection"), pytest.mark.database]
shared = pytest.mark.skipif(connection.vendor != "postgresql", reason="machines share no file")


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Client:
    monkeypatch.setattr(FleetSettings, "refresh_at", 0.0)
    client = Client(SERVER_NAME="localhost")
    client.force_login(User.objects.create_superuser("ada", password="correct horse battery"))
    return client


def value(name: str) -> object:
    return resolve_settings(base_layers()).get(name)


@shared
def test_a_request_reads_what_another_machine_has_set(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    change_fleet_settings({"TIMEOUT": "9"}, [])
    Machine.objects.filter(pk=Machine.current().pk).update(config={"MAX_DEPTH": 2})
    assert client.get("/health/").status_code == 200
    assert value("TIMEOUT") == 60
    assert client.get("/").status_code == 200
    assert (value("TIMEOUT"), value("MAX_DEPTH")) == (9, 2)
    change_fleet_settings({"TIMEOUT": "8"}, [])
    client.get("/")
    assert value("TIMEOUT") == 9, "not with each request"
    monkeypatch.setattr(middleware, "REFRESH_EVERY", 0.0)
    monkeypatch.setattr(FleetSettings, "refresh_at", 0.0)
    client.get("/")
    assert value("TIMEOUT") == 8


@shared
def test_settings_of_before_hold_where_those_of_now_cannot_be_read(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    change_fleet_settings({"TIMEOUT": "9"}, [])
    client.get("/")
    FleetSetting.objects.update(content="no token", is_encrypted=True)
    monkeypatch.setattr(FleetSettings, "refresh_at", 0.0)
    assert client.get("/").status_code == 200
    assert value("TIMEOUT") == 9


@pytest.mark.skipif(connection.vendor == "postgresql", reason="machines may share a server")
def test_a_machine_alone_reads_nothing(client: Client) -> None:
    with CaptureQueriesContext(connection) as queries:
        client.get("/")
    assert not [query for query in queries if "fleetsetting" in query["sql"]]
