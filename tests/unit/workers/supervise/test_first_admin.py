"""A new collection gets its first administrator from ADMIN_PASSWORD, where that is set."""

import pytest
from django.contrib.auth import authenticate
from django.contrib.auth.models import User

from archivebox.config.resolve import Layer, Resolved, resolve
from archivebox.workers.supervise.first_admin import admin_to_log_in, admin_with_password, somebody_can_log_in

pytestmark = pytest.mark.django_db


def settings(**values: str) -> Resolved:
    return resolve({}, [Layer("environment", values)])


def test_without_a_password_nobody_is_made() -> None:
    assert admin_with_password(settings(ADMIN_USERNAME="alice")) == ""
    assert not User.objects.exclude(username="system").exists()


def test_the_named_administrator_logs_in_with_the_password() -> None:
    assert admin_with_password(settings(ADMIN_USERNAME="alice", ADMIN_PASSWORD="a secret")) == "alice"
    user = authenticate(username="alice", password="a secret")
    assert isinstance(user, User)
    assert user.is_superuser
    assert user.is_staff
    assert somebody_can_log_in()


def test_the_administrator_who_waits_for_a_link_gets_the_password() -> None:
    waiting = admin_to_log_in()
    assert not somebody_can_log_in()
    assert admin_with_password(settings(ADMIN_PASSWORD="a secret")) == waiting.username
    assert authenticate(username=waiting.username, password="a secret") == waiting
