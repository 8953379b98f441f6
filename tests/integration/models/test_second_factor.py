"""Of many who use one code, passkey answer or log-in at a time exactly one is accepted, on both databases."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pyotp
import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone

from archivebox.accounts.models import AuthenticatorApp, Passkey, RecoveryCode
from archivebox.accounts.second_factor.apps import accept_code, new_app
from archivebox.accounts.second_factor.authenticators import SecondFactorError, add, remove
from archivebox.accounts.second_factor.passkeys import RelyingParty, accept_passkey, new_passkey, request_options
from archivebox.accounts.second_factor.rows import accept_recovery_code, renew_codes, spend
from archivebox.config.conffile import write_conf
from archivebox.config.settings import DATA_FOLDER
from tests.authenticator import Device

pytestmark = [pytest.mark.usefixtures("collection"), pytest.mark.django_db(transaction=True), pytest.mark.database]
THREADS = 6


def accepted(act: Callable[[], object]) -> int:
    """How many of six threads that do it at once hear that it is right."""
    ready = Barrier(THREADS, timeout=60)

    def one(_number: int) -> bool:
        try:
            connection.ensure_connection()
            ready.wait()
            return bool(act())
        finally:
            connection.close()

    with ThreadPoolExecutor(THREADS) as threads:
        return sum(threads.map(one, range(THREADS)))


@pytest.fixture
def reader() -> User:
    return User.objects.create_user("reader")


def test_a_code_of_an_app_is_accepted_once(reader: User) -> None:
    totp, now = pyotp.TOTP(pyotp.random_base32()), timezone.now()
    app = new_app(reader, "Phone", totp.secret, totp.now())
    assert app is not None
    app.save()
    AuthenticatorApp.objects.update(last_step=0)
    code = totp.at(now)
    assert accepted(lambda: accept_code(reader, code, now)) == 1
    assert AuthenticatorApp.objects.get().last_step == totp.timecode(now)


def test_an_app_is_stored_once_with_ten_recovery_codes(reader: User) -> None:
    totp = pyotp.TOTP(pyotp.random_base32())
    code = totp.now()

    def is_added() -> bool:
        app = new_app(reader, "Phone", totp.secret, code)
        try:
            return app is not None and bool(add(reader, app))
        except SecondFactorError:
            return False

    assert accepted(is_added) == 1
    assert (AuthenticatorApp.objects.count(), RecoveryCode.objects.count()) == (1, 10)


def test_of_the_last_two_factors_one_stays_where_one_is_needed(reader: User) -> None:
    apps = [AuthenticatorApp.objects.create(user=reader, label=label, secret="-") for label in ("Phone", "Tablet")]

    def is_removed() -> bool:
        try:
            remove(reader, apps.pop())
        except (SecondFactorError, IndexError):
            return False
        return True

    write_conf(DATA_FOLDER.conf, {"REQUIRE_TWO_FACTOR": "everybody"})
    try:
        assert accepted(is_removed) == 1
    finally:
        write_conf(DATA_FOLDER.conf, {"REQUIRE_TWO_FACTOR": None})
    assert AuthenticatorApp.objects.count() == 1


def test_a_recovery_code_is_accepted_once(reader: User) -> None:
    codes = renew_codes(reader)
    assert accepted(lambda: accept_recovery_code(reader, codes[3])) == 1
    assert RecoveryCode.objects.count() == 9


def test_a_log_in_in_two_steps_is_completed_once() -> None:
    assert accepted(lambda: spend("one")) == 1
    assert (spend("one"), spend("another")) == (False, True)


def test_a_count_of_a_passkey_is_accepted_once(reader: User) -> None:
    party, challenge = RelyingParty("localhost", "http://localhost"), bytes(range(32))
    device = Device(party.origin, count=1)
    options = request_options(party, challenge)
    new_passkey(party, reader, "Laptop", challenge, device.create(options)).save()
    answer = device.get(options)
    assert accepted(lambda: accept_passkey(party, challenge, answer)) == 1
    assert Passkey.objects.get().sign_count == device.count
