"""Settings are those of all machines that share a database; what a machine says of its own goes before."""

import pytest
from django.db import connection

from archivebox.config.conffile import read_conf, write_conf
from archivebox.config.early import early_settings
from archivebox.config.fleet_copy import read_fleet_copy
from archivebox.config.settings import DATA_FOLDER
from archivebox.config.shared_secrets import SharedSecretError
from archivebox.hooks import base_layers, resolve_settings
from archivebox.hooks.stored_settings import ALL_MACHINES, write_settings
from archivebox.machine.fleet_setting import FleetSetting, fleet_settings, refresh_fleet_settings
from archivebox.machine.models import Machine
from archivebox.workers.queue.readiness_check import ReadinessCheck

pytestmark = [pytest.mark.usefixtures("collection"), pytest.mark.database]
shared = pytest.mark.skipif(connection.vendor != "postgresql", reason="machines share no file")
PROXY = "http://eve:hunter2@proxy.example:3128"


def value(name: str) -> object:
    return resolve_settings(base_layers()).get(name)


@pytest.mark.skipif(connection.vendor == "postgresql", reason="machines may share a server")
def test_a_machine_alone_keeps_settings_in_its_file() -> None:
    assert write_settings({"TIMEOUT": "9"}) == [str(DATA_FOLDER.conf)]
    refresh_fleet_settings()
    assert read_conf(DATA_FOLDER.conf) == {"TIMEOUT": "9"}
    assert not FleetSetting.objects.exists()
    assert not DATA_FOLDER.fleet_settings.exists()
    assert [layer.name for layer in base_layers()] == ["file", "machine", "environment"]


@shared
def test_a_setting_holds_on_all_machines_unless_one_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    assert write_settings({"TIMEOUT": "9", "AUDIT_RETENTION_DAYS": "7"}) == [ALL_MACHINES]
    assert not DATA_FOLDER.conf.exists()
    assert value("TIMEOUT") == 9
    assert early_settings(DATA_FOLDER).get("AUDIT_RETENTION_DAYS") == 7, "before a database is open, too"
    write_conf(DATA_FOLDER.conf, {"TIMEOUT": "8"})
    assert value("TIMEOUT") == 8
    Machine.current().config = {"TIMEOUT": 7}
    assert value("TIMEOUT") == 7
    monkeypatch.setenv("TIMEOUT", "6")
    assert [source for source, _ in resolve_settings(base_layers()).explain("TIMEOUT")][1:4] == [
        "fleet", "file", "machine",
    ]  # fmt: skip


@shared
def test_what_is_set_for_all_takes_the_place_of_what_the_file_here_says() -> None:
    write_conf(DATA_FOLDER.conf, {"TIMEOUT": "8", "MAX_DEPTH": "1"})
    write_settings({"TIMEOUT": "9"})
    assert read_conf(DATA_FOLDER.conf) == {"MAX_DEPTH": "1"}
    assert value("TIMEOUT") == 9
    write_settings({"TIMEOUT": None})
    assert value("TIMEOUT") == 60


@shared
def test_places_and_addresses_of_a_machine_stay_in_its_file() -> None:
    places = write_settings({"LIB_DIR": "/opt/lib", "WGET_BINARY": "wget2", "BIND_ADDR": "0.0.0.0:80", "TIMEOUT": "9"})
    assert places == [ALL_MACHINES, str(DATA_FOLDER.conf)]
    assert fleet_settings() == {"TIMEOUT": "9"}
    assert read_conf(DATA_FOLDER.conf).keys() == {"LIB_DIR", "WGET_BINARY", "BIND_ADDR"}
    FleetSetting.objects.create(name="CHROME_BINARY", content="/bin/evil")
    refresh_fleet_settings()
    assert value("CHROME_BINARY") != "/bin/evil", "whoever writes rows leads to no program"


@shared
def test_what_another_machine_changes_holds_here_without_a_restart() -> None:
    check = ReadinessCheck()
    assert check.may_begin()
    FleetSetting.objects.create(name="TIMEOUT", content="9")
    assert check.may_begin()
    assert value("TIMEOUT") == 9
    FleetSetting.objects.update(content="never")
    assert not check.may_begin()
    FleetSetting.objects.all().delete()
    assert check.may_begin()
    assert value("TIMEOUT") == 60


@shared
def test_secrets_are_encrypted_where_the_environment_has_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "long and random")
    write_settings({"PROXY": PROXY, "TIMEOUT": "9"})
    rows = {row.name: row for row in FleetSetting.objects.all()}
    assert (rows["PROXY"].is_encrypted, rows["TIMEOUT"].is_encrypted) == (True, False)
    assert "hunter2" not in rows["PROXY"].content
    assert value("PROXY") == PROXY
    assert DATA_FOLDER.fleet_settings.stat().st_mode & 0o077 == 0
    told: list[str] = []
    monkeypatch.setenv("SECRET_KEY", "another")
    with pytest.raises(SharedSecretError, match=r"setting PROXY .* encrypted with another SECRET_KEY"):
        refresh_fleet_settings()
    assert not ReadinessCheck(told.append).may_begin()
    assert "another SECRET_KEY" in told[0]


def test_a_copy_of_another_database_is_not_read() -> None:
    DATA_FOLDER.fleet_settings.write_text('{"database": "other", "settings": {"TIMEOUT": "9"}}')
    assert read_fleet_copy(DATA_FOLDER, "postgres://here/archive") == {}


@shared
def test_what_cannot_be_stored_changes_nothing() -> None:
    with pytest.raises(ValueError, match="URL_DENYLIST has lines"):
        write_settings({"TIMEOUT": "9", "URL_DENYLIST": "a\n\n# b"})
    assert fleet_settings() == {}
