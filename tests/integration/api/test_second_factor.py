"""A second factor: asked for after the password, changed by who has confirmed; a wrong or used one is refused."""

import html
import json
import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import pyotp
import pytest
from django.contrib.auth.models import User
from django.test import Client
from fido2.utils import websafe_encode

from archivebox.accounts.models import AuditEntry, AuthenticatorApp, Passkey, RecoveryCode
from archivebox.accounts.second_factor import authenticators
from archivebox.config.conffile import write_conf
from archivebox.config.settings import DATA_FOLDER
from tests.authenticator import Device

PASSWORD = "correct horse battery"
ORIGIN = "http://localhost"

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("collection")]


@pytest.fixture
def require() -> Iterator[Callable[[str], None]]:
    """Sets who needs a second factor, in the file that a running server reads."""
    yield lambda who: write_conf(DATA_FOLDER.conf, {"REQUIRE_TWO_FACTOR": who})
    write_conf(DATA_FOLDER.conf, {"REQUIRE_TWO_FACTOR": None})


def browser() -> Client:
    return Client(SERVER_NAME="localhost")


@pytest.fixture
def reader() -> User:
    return User.objects.create_user("reader", password=PASSWORD)


@pytest.fixture
def inside(reader: User) -> Client:
    """A browser in which the reader has logged in."""
    client = browser()
    client.force_login(reader)
    return client


def text_of(answer: Any) -> str:
    return str(html.unescape(answer.content.decode()))


def give_password(client: Client, **more: str) -> Any:
    return client.post("/login/", {"username": "reader", "password": PASSWORD, **more})


def is_in(client: Client) -> bool:
    return client.get("/tokens/").status_code == 200


def add_app(client: Client) -> tuple[pyotp.TOTP, list[str]]:
    """The app that was added, and the recovery codes that came with it."""
    page = text_of(client.get("/security/app/"))
    (sealed,) = re.findall(r'name="sealed" value="([^"]+)"', page)
    (secret,) = re.findall(r"<code>([A-Z2-7 ]{32,})</code>", page)
    app = pyotp.TOTP(secret.replace(" ", ""))
    added = client.post("/security/app/", {"label": "Phone", "sealed": sealed, "code": app.now()})
    return app, re.findall(r"<code>([a-z2-7-]{19})</code>", text_of(added))


def unused_code(app: pyotp.TOTP) -> str:
    """The code after the one that was accepted last: right for at least half a minute, however slow a test runs."""
    return app.generate_otp(AuthenticatorApp.objects.latest("last_step").last_step + 1)


def forget_confirmation(client: Client) -> None:
    session = client.session
    session["confirmed_at"] = 0
    session.save()


def options_in(page: str) -> str:
    (options,) = re.findall(r"data-options=\"(\{.*?\})\"", page)
    return str(options)


def add_passkey(client: Client, device: Device) -> Any:
    page = text_of(client.get("/security/passkey/"))
    return client.post("/security/passkey/", {"label": "Laptop", "credential": device.create(options_in(page))})


def actions() -> list[str]:
    return [entry.action for entry in AuditEntry.objects.order_by("pk")]


def test_a_right_password_is_not_enough_where_there_is_an_app(inside: Client) -> None:
    app, _ = add_app(inside)
    client = browser()
    assert give_password(client, next="/tags/")["Location"] == "/login/second/"
    assert not is_in(client)
    assert "Code from your authenticator app" in text_of(client.get("/login/second/"))
    code = unused_code(app)
    answer = client.post("/login/second/", {"code": f"{code[:3]} {code[3:]}"})
    assert (answer.status_code, answer["Location"]) == (302, "/tags/")
    assert is_in(client)


def test_a_code_is_accepted_once_and_the_log_in_is_completed_once(inside: Client) -> None:
    app, codes = add_app(inside)
    first, second = browser(), browser()
    give_password(first)
    pending = dict(first.cookies)
    code = unused_code(app)
    assert first.post("/login/second/", {"code": code}).status_code == 302
    give_password(second)
    assert second.post("/login/second/", {"code": code}).status_code == 403
    assert not is_in(second)
    again = browser()
    again.cookies["archivebox_pending"] = pending["archivebox_pending"].value
    assert again.post("/login/second/", {"recovery_code": codes[0]}).status_code == 403
    assert not is_in(again)


def test_the_second_step_is_of_the_browser_that_gave_the_password(inside: Client, reader: User) -> None:
    app, _ = add_app(inside)
    stranger = browser()
    assert stranger.get("/login/second/").status_code == 403
    assert stranger.post("/login/second/", {"code": unused_code(app)}).status_code == 403
    client = browser()
    give_password(client)
    reader.set_password("another horse battery")
    reader.save()
    assert client.post("/login/second/", {"code": unused_code(app)}).status_code == 403
    assert not is_in(client)


def test_a_code_of_a_clock_half_a_minute_off_is_right_and_no_older_one(inside: Client) -> None:
    app, _ = add_app(inside)
    AuthenticatorApp.objects.update(last_step=0)
    client = browser()
    give_password(client)
    for offset in (-3, 3):
        assert client.post("/login/second/", {"code": app.at(time.time(), counter_offset=offset)}).status_code == 403
    assert client.post("/login/second/", {"code": app.at(time.time(), counter_offset=1)}).status_code == 302


def test_codes_are_not_guessed_and_the_attempt_is_on_record(inside: Client) -> None:
    app, _ = add_app(inside)
    client = browser()
    give_password(client)
    answers = [client.post("/login/second/", {"code": "000000x"}).status_code for _ in range(6)]
    assert answers == [403] * 5 + [429]
    assert client.post("/login/second/", {"code": unused_code(app)}).status_code == 429
    refused = AuditEntry.objects.get(action="login.refused")
    assert refused.detail == {"username": "reader", "reason": "The second factor was wrong."}


def test_a_recovery_code_works_once_and_is_stored_as_a_digest(inside: Client) -> None:
    _, codes = add_app(inside)
    assert (len(codes), RecoveryCode.objects.filter(digest__in=codes).count()) == (10, 0)
    for number, status in ((1, 302), (2, 403)):
        client = browser()
        give_password(client)
        answer = client.post("/login/second/", {"recovery_code": codes[0].upper().replace("-", " ")})
        assert answer.status_code == status, number
    assert RecoveryCode.objects.count() == 9
    assert "user.recovery_code_used" in actions()


def test_new_recovery_codes_replace_the_old_ones(inside: Client) -> None:
    _, codes = add_app(inside)
    page = text_of(inside.post("/security/codes/"))
    new = re.findall(r"<code>([a-z2-7-]{19})</code>", page)
    assert "sessions have ended" not in page
    assert (len(new), set(new) & set(codes), RecoveryCode.objects.count()) == (10, set(), 10)
    client = browser()
    give_password(client)
    assert client.post("/login/second/", {"recovery_code": codes[0]}).status_code == 403
    assert client.post("/login/second/", {"recovery_code": new[0]}).status_code == 302


def test_the_secret_of_an_app_is_in_the_database_encrypted_alone(inside: Client, settings: Any) -> None:
    app, codes = add_app(inside)
    row = AuthenticatorApp.objects.get()
    assert app.secret not in row.secret
    settings.SECRET_KEY = "another key"
    client = browser()
    give_password(client)
    assert client.post("/login/second/", {"code": unused_code(app)}).status_code == 403
    assert client.post("/login/second/", {"recovery_code": codes[0]}).status_code == 302


def test_a_passkey_is_a_second_factor_and_logs_in_alone(inside: Client) -> None:
    device = Device(ORIGIN, count=1)
    assert len(re.findall(r"<code>[a-z2-7-]{19}</code>", text_of(add_passkey(inside, device)))) == 10
    client = browser()
    give_password(client)
    options = options_in(text_of(client.get("/login/second/")))
    assert client.post("/login/second/", {"credential": device.get(options)}).status_code == 302
    alone = browser()
    assert "Log in with a passkey" in text_of(alone.get("/login/"))
    options = text_of(alone.get("/login/passkey/options/?next=/tags/"))
    answer = alone.post("/login/passkey/", {"credential": device.get(options)})
    assert (answer.status_code, answer["Location"]) == (302, "/tags/")
    assert (is_in(client), is_in(alone)) == (True, True)


def alone_with(device: Device, credential: str = "", *, twice: bool = False) -> int:
    client = browser()
    credential = credential or device.get(text_of(client.get("/login/passkey/options/")))
    pending = client.cookies["archivebox_pending"].value if twice else ""
    answer = client.post("/login/passkey/", {"credential": credential})
    if twice:
        client = browser()
        client.cookies["archivebox_pending"] = pending
        answer = client.post("/login/passkey/", {"credential": credential})
    assert is_in(client) == (answer.status_code == 302)
    return answer.status_code


def test_what_a_passkey_did_not_sign_for_this_page_is_refused(inside: Client, reader: User) -> None:
    device = Device(ORIGIN)
    add_passkey(inside, device)
    assert alone_with(device) == 302
    assert alone_with(device, twice=True) == 403, "the same answer a second time"
    other = Device(ORIGIN, key=Device(ORIGIN).key, name=device.name)
    assert alone_with(other) == 403, "another key"
    for attribute, value in (("origin", "http://localhost:81"), ("host", "example.com"), ("verifies", False)):
        before = getattr(device, attribute)
        setattr(device, attribute, value)
        assert alone_with(device) == 403, attribute
        setattr(device, attribute, before)
    for credential in ("", "{}", "[]", "[" * 15_000, '{"id": "\\u0000"}', '{"id": 1}', "x" * 30_000):
        assert alone_with(device, credential or "{") == 403, credential[:20]
    name = websafe_encode(device.name)
    parts = {"clientDataJSON": "e30", "authenticatorData": "AA", "signature": "AA"}
    for response in ("none", dict[str, str](), parts, parts | {"clientDataJSON": "W10"}):
        answer = {"id": name, "rawId": name, "type": "public-key", "response": response}
        assert alone_with(device, json.dumps(answer)) == 403, response
    reader.is_active = False
    reader.save()
    assert alone_with(device) == 403, "disabled"


def test_a_passkey_that_asked_for_no_finger_is_right_after_a_password_alone(inside: Client) -> None:
    device = Device(ORIGIN, verifies=False)
    add_passkey(inside, device)
    client = browser()
    give_password(client)
    credential = device.get(options_in(text_of(client.get("/login/second/"))))
    assert client.post("/login/passkey/", {"credential": credential}).status_code == 403
    assert client.post("/login/second/", {"credential": credential}).status_code == 302


def test_a_passkey_whose_counter_does_not_rise_is_refused_and_on_record(inside: Client) -> None:
    device = Device(ORIGIN, count=5)
    add_passkey(inside, device)
    assert alone_with(device) == 302
    device.count = 5
    assert alone_with(device) == 403
    assert Passkey.objects.get().sign_count == 6
    (refused,) = AuditEntry.objects.filter(action="login.refused")
    assert "copied" in refused.detail["reason"]


def test_a_passkey_of_somebody_else_is_no_second_factor(inside: Client) -> None:
    add_app(inside)
    other = browser()
    other.force_login(User.objects.create_user("other"))
    device = Device(ORIGIN)
    add_passkey(other, device)
    client = browser()
    give_password(client)
    add_passkey(inside, Device(ORIGIN))
    options = options_in(text_of(client.get("/login/second/")))
    assert client.post("/login/second/", {"credential": device.get(options)}).status_code == 403
    assert client.post("/login/second/", {}).status_code == 403


@pytest.mark.parametrize(
    ("host", "sentence"),
    [
        ("127.0.0.1:8000", "http://localhost:8000"),
        ("[::1]:8000", "http://localhost:8000"),
        ("archive.example.org", "need https"),
    ],
)
def test_a_page_says_why_it_has_no_passkeys(inside: Client, settings: Any, host: str, sentence: str) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    assert sentence in text_of(inside.get("/security/", headers={"host": host}))
    assert sentence in text_of(inside.get("/security/passkey/", headers={"host": host}))
    assert browser().get("/login/passkey/options/", headers={"host": host}).status_code == 404


def test_a_host_that_the_settings_do_not_name_makes_no_passkeys(inside: Client, settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    answer = inside.get("/security/passkey/", headers={"host": "evil.example"}, secure=True)
    assert "BASE_URL" in text_of(answer)


def test_a_change_asks_for_the_password_or_a_second_factor_again(inside: Client) -> None:
    app, _ = add_app(inside)
    forget_confirmation(inside)
    for path in ("/security/app/", "/security/passkey/"):
        assert inside.get(path)["Location"] == f"/security/confirm/?next={path.replace('/', '%2F')}"
    factor = AuthenticatorApp.objects.get()
    for path in ("/security/codes/", f"/security/app/{factor.pk}/", "/login/provider/connect/"):
        assert inside.post(path, {"do": "remove"})["Location"] == "/security/confirm/?next=%2Fsecurity%2F"
    assert AuthenticatorApp.objects.count() == 1
    assert inside.post("/security/confirm/", {"password": "wrong"}).status_code == 403
    assert inside.post("/security/confirm/", {"code": "wrong"}).status_code == 403
    assert inside.post("/security/codes/").status_code == 302
    answer = inside.post("/security/confirm/", {"code": unused_code(app), "next": "/security/app/"})
    assert answer["Location"] == "/security/app/"
    assert inside.post("/security/codes/").status_code == 200
    forget_confirmation(inside)
    assert inside.post("/security/confirm/", {"password": PASSWORD}).status_code == 302
    assert inside.get("/security/app/").status_code == 200


def test_factors_are_renamed_and_removed_on_record_and_other_sessions_end(inside: Client, reader: User) -> None:
    other = browser()
    other.force_login(reader)
    add_app(inside)
    assert (is_in(inside), is_in(other)) == (True, False)
    add_passkey(inside, Device(ORIGIN))
    app, passkey = AuthenticatorApp.objects.get(), Passkey.objects.get()
    inside.post(f"/security/app/{app.pk}/", {"do": "rename", "label": " My  phone "})
    assert "My phone" in text_of(inside.get("/security/"))
    stranger = browser()
    stranger.force_login(User.objects.create_user("other"))
    assert stranger.post(f"/security/app/{app.pk}/", {"do": "remove"}).status_code == 404
    for kind, row in (("app", app), ("passkey", passkey)):
        assert RecoveryCode.objects.count() == 10
        other.force_login(reader)
        inside.post(f"/security/{kind}/{row.pk}/", {"do": "remove"})
        assert (is_in(inside), is_in(other)) == (True, False)
    assert RecoveryCode.objects.count() == 0
    assert give_password(browser())["Location"] == "/"
    changes = [action for action in actions() if action.startswith("user.factor")]
    assert changes == ["user.factor_added"] * 2 + ["user.factor_renamed"] + ["user.factor_removed"] * 2


def test_an_app_is_added_once(inside: Client) -> None:
    page = text_of(inside.get("/security/app/"))
    (sealed,) = re.findall(r'name="sealed" value="([^"]+)"', page)
    (secret,) = re.findall(r"<code>([A-Z2-7 ]{32,})</code>", page)
    fields = {"label": "Phone", "sealed": sealed, "code": pyotp.TOTP(secret.replace(" ", "")).now()}
    assert inside.post("/security/app/", fields).status_code == 200
    answer = inside.post("/security/app/", fields, follow=True)
    assert "It has been added already." in text_of(answer)
    assert AuthenticatorApp.objects.count() == 1


def test_a_password_is_not_set_past_the_second_factor(reader: User) -> None:
    reader.set_unusable_password()
    reader.save()
    client = browser()
    client.force_login(reader)
    forget_confirmation(client)
    assert client.get("/password/").status_code == 200
    client.force_login(reader)
    app, _ = add_app(client)
    forget_confirmation(client)
    new = {"new_password1": "another horse battery", "new_password2": "another horse battery"}
    assert client.post("/password/", new)["Location"] == "/security/confirm/?next=%2Fpassword%2F"
    assert client.post("/security/confirm/", {"code": unused_code(app)}).status_code == 302
    assert client.post("/password/", new)["Location"] == "/"


def test_guesses_of_a_confirmation_are_on_record(inside: Client) -> None:
    add_app(inside)
    for field in ("password", "code"):
        answers = [inside.post("/security/confirm/", {field: "wrong"}).status_code for _ in range(6)]
        assert answers == [403] * 5 + [429]
    assert actions().count("login.refused") == 2


def test_guesses_of_the_old_password_are_limited_and_on_record(inside: Client) -> None:
    new = {"new_password1": "another horse battery", "new_password2": "another horse battery"}
    answers = [inside.post("/password/", {"old_password": f"wrong {n}", **new}).status_code for n in range(5)]
    assert answers == [422] * 5
    limited = inside.post("/password/", {"old_password": PASSWORD, **new})
    assert (limited.status_code, "Too many attempts" in text_of(limited)) == (429, True)
    assert actions().count("login.refused") == 1


def test_guesses_count_for_the_account_that_a_name_leads_to(reader: User) -> None:
    wide = "".join(chr(ord(letter) + 0xFEE0) for letter in "reader")
    names = ["reader", " reader", "reader\u3000", wide, f"{wide[0]}eader\t", wide.upper(), "reader"]
    guesses = [browser().post("/login/", {"username": name, "password": "wrong"}).status_code for name in names]
    assert guesses == [403] * 5 + [429] * 2
    assert AuditEntry.objects.get(action="login.refused").detail == {"username": reader.username}


def test_a_right_old_password_uses_up_no_attempt(inside: Client) -> None:
    for _ in range(6):
        assert inside.post("/password/", {"old_password": PASSWORD, "new_password1": "short"}).status_code == 422


def test_who_needs_a_factor_and_has_none_gets_no_further_than_to_set_one_up(
    reader: User, require: Callable[[str], None]
) -> None:
    require("administrators")
    client = browser()
    assert give_password(client)["Location"] == "/"
    require("everybody")
    client = browser()
    assert give_password(client)["Location"] == "/security/"
    page = {"accept": "text/html"}
    assert client.get("/", headers=page)["Location"] == "/security/"
    refused = client.get("/api/v1/snapshots")
    assert (refused.status_code, refused["Content-Type"]) == (403, "application/problem+json")
    assert client.post("/tokens/", {"label": "x", "scope": "read", "days": "30"}).status_code == 403
    assert "needs a second factor" in text_of(client.get("/security/"))
    add_app(client)
    assert client.get("/", headers=page).status_code == 200
    path = f"/security/app/{AuthenticatorApp.objects.get(user=reader).pk}/"
    client.post(path, {"do": "remove"})
    assert AuthenticatorApp.objects.count() == 1, "the last one stays"


def test_that_a_factor_is_needed_counts_for_sessions_that_are_open(
    inside: Client, reader: User, require: Callable[[str], None]
) -> None:
    require("administrators")
    assert is_in(inside)
    reader.is_superuser = True
    reader.save()
    assert not is_in(inside)
    assert inside.get("/static/web/archivebox.css").status_code == 200
    require("none")
    assert is_in(inside)


def test_a_session_that_a_provider_began_is_not_asked_for_a_factor(
    inside: Client, require: Callable[[str], None]
) -> None:
    require("everybody")
    session = inside.session
    session["by_provider"] = True
    session.save()
    assert is_in(inside)


def test_settings_that_cannot_be_read_let_nobody_past(inside: Client, require: Callable[[str], None]) -> None:
    require("everyone")
    answer = inside.get("/")
    assert (answer.status_code, "misconfigured" in text_of(answer)) == (503, True)


def test_an_administrator_without_a_factor_is_led_to_set_one_up(require: Callable[[str], None]) -> None:
    User.objects.create_superuser("reader", password=PASSWORD)
    require("administrators")
    assert give_password(browser())["Location"] == "/security/"


def test_an_administrator_resets_the_factors_of_somebody(inside: Client, reader: User) -> None:
    add_app(inside)
    boss = browser()
    boss.force_login(User.objects.create_superuser("boss"))
    assert "Reset the second factor of reader" in text_of(boss.get("/people/"))
    forget_confirmation(boss)
    path = f"/people/{reader.pk}/"
    assert boss.post(path, {"do": "reset-factors"})["Location"] == "/security/confirm/?next=%2Fpeople%2F"
    boss.force_login(User.objects.get(username="boss"))
    assert inside.post(path, {"do": "reset-factors"}).status_code == 403
    assert boss.post(path, {"do": "reset-factors"})["Location"] == "/people/"
    assert not len(authenticators.SecondFactors.of(reader))
    assert (is_in(boss), is_in(inside)) == (True, False)
    add_app(boss)
    boss.post(f"/people/{User.objects.get(username='boss').pk}/", {"do": "reset-factors"})
    assert not is_in(boss), "one's own sessions end, too"
    assert give_password(browser())["Location"] == "/"
    assert "user.factors_reset" in actions()


def test_without_password_login_no_passkey_logs_in_either(inside: Client) -> None:
    device = Device(ORIGIN)
    add_passkey(inside, device)
    write_conf(DATA_FOLDER.conf, {"PASSWORD_LOGIN": "false"})
    try:
        assert "passkey" not in text_of(browser().get("/login/"))
        assert browser().get("/login/passkey/options/").status_code == 404
        assert browser().post("/login/passkey/", {"credential": "{}"}).status_code == 403
    finally:
        write_conf(DATA_FOLDER.conf, {"PASSWORD_LOGIN": None})
