"""People come in by an OpenID provider, as whoever that is here; what it did not say to this browser counts nothing."""

import time
from collections.abc import Iterator
from itertools import count
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from django.contrib.auth.models import User
from django.test import Client
from joserfc.jwk import OctKey, RSAKey

from archivebox.accounts import people
from archivebox.accounts.models import AuditEntry, Identity
from archivebox.accounts.openid.provider import forget_providers
from archivebox.accounts.roles import Role, role_of
from archivebox.config.conffile import write_conf
from archivebox.config.settings import DATA_FOLDER
from archivebox.lib.jsonl import JSON
from tests.openid.provider import CLIENT, SECRET, StandIn, standing_in

pytestmark = [pytest.mark.usefixtures("pages", "collection"), pytest.mark.database]


@pytest.fixture(scope="module")
def running() -> Iterator[StandIn]:
    with standing_in() as provider:
        yield provider


@pytest.fixture
def provider(running: StandIn, collection: None) -> StandIn:
    """As it is at first, and set here; who is new comes in as a viewer."""
    del collection
    forget_providers()
    fresh = StandIn(issuer=running.issuer, key=running.key)
    running.__dict__.update(fresh.__dict__)
    configure(OIDC_ISSUER=running.issuer, OIDC_CLIENT_ID=CLIENT, OIDC_CLIENT_SECRET=SECRET, OIDC_NAME="Home")
    configure(OIDC_DEFAULT_ROLE="viewer")
    return running


ADDRESSES = (f"198.51.100.{number}" for number in count(1))


def caller_account() -> Client:
    """A browser at an address of its own: tries are counted by address."""
    return Client(SERVER_NAME="localhost", REMOTE_ADDR=next(ADDRESSES))


@pytest.fixture
def client() -> Client:
    return caller_account()


def configure(**settings: str) -> None:
    write_conf(DATA_FOLDER.conf, settings)


def to_provider(client: Client, path: str = "/login/provider/") -> str:
    """The address at which a browser that begins ends up at the provider."""
    answer = client.get(path)
    assert answer.status_code == 302
    return str(answer["Location"])


def return_address(client: Client, path: str = "/login/provider/") -> str:
    """What the provider sends the browser back to."""
    answer = requests.get(to_provider(client, path), allow_redirects=False, timeout=90)
    back = urlsplit(answer.headers["Location"])
    return f"{back.path}?{back.query}"


def log_in(client: Client) -> Any:
    return client.get(return_address(client))


def is_in(client: Client) -> bool:
    return client.get("/crawls/").status_code == 200


def sentence_of(answer: Any) -> str:
    return str(answer.context["problem"])


def test_a_new_person_gets_the_configured_role_and_the_same_account_next_time(
    provider: StandIn, client: Client
) -> None:
    assert "Log in with Home" in client.get("/login/").content.decode()
    answer = client.get(return_address(client, "/login/provider/?next=/tags/"))
    assert 'content="0; url=/tags/"' in answer.content.decode()
    assert is_in(client)
    jane = User.objects.get(username="jane")
    assert (role_of(jane), jane.has_usable_password()) == (Role.VIEWER, False)
    provider.person["preferred_username"] = "jane-renamed"
    again = caller_account()
    log_in(again)
    assert int(again.session["_auth_user_id"]) == jane.pk
    assert [entry.action for entry in AuditEntry.objects.order_by("pk")] == ["user.created", "user.login", "user.login"]


def test_what_is_asked_ties_the_answer_to_the_browser_by_state_nonce_and_pkce(
    provider: StandIn, client: Client
) -> None:
    address = urlsplit(to_provider(client))
    asked = {name: values[0] for name, values in parse_qs(address.query).items()}
    assert asked["redirect_uri"] == "http://localhost/login/provider/back/"
    assert (asked["scope"], asked["code_challenge_method"]) == ("openid profile email", "S256")
    cookie = client.cookies["archivebox_openid"]
    assert (cookie["httponly"], cookie["samesite"]) == (True, "Lax")
    assert not any(asked[name] in cookie.value for name in ("state", "nonce", "code_challenge"))
    assert SECRET not in address.query
    assert provider.asked == ["/.well-known/openid-configuration"]


def test_an_answer_counts_once_and_in_the_browser_that_began(provider: StandIn, client: Client) -> None:
    back = return_address(client)
    other = caller_account()
    to_provider(other)
    for stranger in (other, caller_account()):
        refused = stranger.get(back)
        assert (refused.status_code, is_in(stranger)) == (403, False)
        assert "started in another browser" in sentence_of(refused)
    assert "/token" not in provider.asked
    kept = client.cookies["archivebox_openid"].value
    assert client.get(back).status_code == 200
    again = caller_account()
    again.cookies["archivebox_openid"] = kept
    replayed = again.get(back)
    assert (replayed.status_code, is_in(again)) == (403, False)
    assert "was used before or arrived too late" in sentence_of(replayed)
    forged = caller_account()
    forged.cookies["archivebox_openid"] = kept[:-2]
    assert forged.get(back).status_code == 403


NOW = int(time.time())
LIES: dict[str, tuple[dict[str, JSON], str]] = {
    "another nonce": ({"nonce": "another"}, "does not match"),
    "no nonce": ({"nonce": None}, "does not match"),
    "another audience": ({"aud": "another"}, "does not match"),
    "another audience, by us": ({"aud": "another", "azp": CLIENT}, "does not match"),
    "another issuer": ({"iss": "https://another.example"}, "does not match"),
    "for several, by another": ({"aud": [CLIENT, "another"], "azp": "another"}, "does not match"),
    "no subject": ({"sub": None}, "does not match"),
    "an empty subject": ({"sub": ""}, "does not match"),
    "a subject without end": ({"sub": "x" * 256}, "does not match"),
    "expired": ({"exp": NOW - 3600}, "clocks"),
    "from the future": ({"iat": NOW + 3600}, "clocks"),
    "no end": ({"exp": None}, "does not match"),
}


@pytest.mark.parametrize("lie", LIES)
def test_an_id_token_that_is_not_for_us_now_is_refused(lie: str, provider: StandIn, client: Client) -> None:
    claims, words = LIES[lie]
    provider.lies = claims
    answer = log_in(client)
    assert (answer.status_code, is_in(client)) == (403, False)
    assert words in sentence_of(answer)
    assert not User.objects.filter(username="jane").exists()


@pytest.mark.filterwarnings("ignore::joserfc.errors.SecurityWarning")  # of the forger
def test_what_another_key_signed_is_refused_and_a_new_key_of_the_provider_is_taken(
    provider: StandIn, client: Client
) -> None:
    log_in(client)
    forgeries: list[tuple[str, RSAKey | OctKey]] = [
        ("RS256", RSAKey.generate_key(2048, {"kid": "first"})),
        ("RS256", RSAKey.generate_key(2048, {"kid": "unknown"})),
        ("HS256", OctKey.import_key(SECRET, {"kid": "first"})),
        ("none", provider.key),
    ]
    for provider.algorithm, provider.signs in forgeries:
        answer = log_in(caller_account())
        assert answer.status_code == 403, provider.algorithm
        assert "does not match" in sentence_of(answer)
    provider.algorithm, provider.signs = "RS256", None
    first, provider.key = provider.key, RSAKey.generate_key(2048, {"kid": "second"})
    assert log_in(caller_account()).status_code == 200
    provider.key = first


def test_groups_give_roles_at_each_log_in_and_who_is_in_none_stays_outside(provider: StandIn, client: Client) -> None:
    configure(OIDC_ROLE_CLAIM="realm_access.roles", OIDC_ADMINS="keepers", OIDC_EDITORS="writers, editors")
    configure(OIDC_DEFAULT_ROLE="")
    boss = User.objects.create_superuser("boss")
    told: list[tuple[JSON, Role]] = [
        (["writers"], Role.EDITOR),
        (["x", "keepers", "writers"], Role.ADMIN),
        ("writers", Role.EDITOR),
    ]
    for groups, role in told:
        provider.userinfo = {"realm_access": {"roles": groups}}
        assert log_in(client).status_code == 200
        assert role_of(User.objects.get(username="jane")) is role
    provider.userinfo = {"realm_access": {"roles": ["strangers"]}}
    answer = log_in(client)
    assert (answer.status_code, "no account here yet" in sentence_of(answer)) == (403, True)
    refused = AuditEntry.objects.filter(action="login.refused").get()
    assert (refused.detail["username"], refused.detail["provider"]) == ("jane", "Home")
    provider.userinfo = {"realm_access": {"roles": ["writers"]}}
    Identity.objects.create(user=boss, issuer=provider.issuer, subject="boss")
    provider.person = {"sub": "boss", "preferred_username": "boss"}
    assert "You are the only administrator" in sentence_of(log_in(client))


def test_a_name_or_an_address_opens_no_account_that_is_there(provider: StandIn, client: Client) -> None:
    User.objects.create_user("Jane", email="jane@example.org")
    provider.person |= {"email": "jane@example.org", "email_verified": True}
    assert "There is an account jane here already" in sentence_of(log_in(client))
    configure(OIDC_USERNAME_CLAIM="email")
    provider.person["email_verified"] = False
    assert "not confirmed your e-mail" in sentence_of(log_in(client))
    provider.person["email_verified"] = True
    assert log_in(client).status_code == 200
    assert User.objects.get(username="jane@example.org").pk == Identity.objects.get().user_id
    configure(OIDC_USERNAME_CLAIM="nick")
    provider.person["sub"] = "somebody-else"
    assert "does not say your name (nick)" in sentence_of(log_in(client))
    provider.userinfo = {"nick": "system"}
    assert "that of the command line" in sentence_of(log_in(client))


@pytest.mark.usefixtures("provider")
def test_an_account_is_connected_by_who_is_in_it_and_opens_no_other(client: Client) -> None:
    anna, ben = User.objects.create_user("anna"), User.objects.create_user("ben")
    assert client.post("/login/provider/connect/").status_code == 302, "a log-in is needed"
    for user, status in ((anna, 200), (ben, 403)):
        inside = caller_account()
        inside.force_login(user)
        onward = inside.post("/login/provider/connect/")
        assert onward.status_code == 200
        back = requests.get(onward.context["address"], allow_redirects=False, timeout=90).headers["Location"]
        del inside.cookies["archivebox_session"]  # it does not come along from another site
        assert inside.get(back).status_code == status
    log_in(client)
    assert int(client.session["_auth_user_id"]) == anna.pk
    people.disable(User.objects.create_superuser("boss"), anna)
    refused = log_in(caller_account())
    assert "is disabled" in sentence_of(refused)
    assert Identity.objects.get().user == anna


@pytest.mark.usefixtures("provider")
def test_an_account_is_disconnected_by_who_has_another_way_in(client: Client) -> None:
    log_in(client)
    client.post("/login/provider/disconnect/")
    assert "Set a password first" in client.get("/password/").content.decode()
    jane = User.objects.get(username="jane")
    jane.set_password("swordfish swordfish")
    jane.save()
    log_in(client)
    client.post("/login/provider/disconnect/")
    assert not Identity.objects.exists()
    assert AuditEntry.objects.filter(action="user.disconnected").get().detail == {"provider": "Home"}
    assert "There is an account jane here already" in sentence_of(log_in(client))


@pytest.mark.parametrize(("answer", "words"), [("access_denied", "denied access"), ("weird<b>", "did not log you in")])
def test_a_refusal_of_the_provider_is_a_sentence(answer: str, words: str, provider: StandIn, client: Client) -> None:
    provider.answers = answer
    page = log_in(client)
    assert (page.status_code, is_in(client)) == (403, False)
    assert words in sentence_of(page)
    assert "weird<b>" not in page.content.decode()


def test_a_failing_provider_is_explained_and_the_password_still_works(provider: StandIn, client: Client) -> None:
    User.objects.create_user("anna", password="swordfish swordfish")
    back = return_address(client)
    provider.metadata = {
        "token_endpoint": f"{provider.issuer}/nothing",
        "userinfo_endpoint": f"{provider.issuer}/elsewhere",
    }
    forget_providers()
    assert "does not match" in sentence_of(client.get(back))
    provider.metadata.pop("token_endpoint")
    forget_providers()
    configure(OIDC_USERNAME_CLAIM="nick")
    assert "does not answer as it should" in sentence_of(log_in(client))
    provider.metadata = {"issuer": "https://another.example"}
    forget_providers()
    assert "does not match" in sentence_of(client.get("/login/provider/"))
    configure(OIDC_CLIENT_SECRET="wrong")
    provider.metadata = {}
    assert "OIDC_CLIENT_SECRET" in sentence_of(log_in(client))
    configure(OIDC_ISSUER="http://127.0.0.1:9/")
    page = client.get("/login/provider/")
    assert (page.status_code, "does not answer" in sentence_of(page)) == (502, True)
    impatient = caller_account()
    assert [impatient.get("/login/provider/").status_code for _ in range(31)] == [502] * 30 + [429]
    assert client.post("/login/", {"username": "anna", "password": "swordfish swordfish"}).status_code == 302


def test_leaving_ends_the_session_here_and_leads_to_the_provider_that_has_one(
    provider: StandIn, client: Client
) -> None:
    log_in(client)
    answer = client.post("/logout/")
    assert not is_in(client)
    address = answer.context["address"]
    assert address.startswith(
        f"{provider.issuer}/end?client_id={CLIENT}&post_logout_redirect_uri=http%3A%2F%2Flocalhost"
    )
    client.force_login(User.objects.create_user("anna"))
    assert client.post("/logout/").status_code == 302, "it was no log-in of the provider's"


@pytest.mark.usefixtures("provider")
def test_passwords_are_taken_until_a_setting_says_no(client: Client) -> None:
    User.objects.create_user("anna", password="swordfish swordfish")
    configure(PASSWORD_LOGIN="false")
    page = client.get("/login/").content.decode()
    assert 'name="password"' not in page
    assert "Log in with Home" in page
    answer = client.post("/login/", {"username": "anna", "password": "swordfish swordfish"})
    assert (answer.status_code, sentence_of(answer)) == (403, "Password login is disabled.")
    configure(OIDC_ISSUER="", PASSWORD_LOGIN="true")
    assert "Log in with" not in client.get("/login/").content.decode()
    assert client.get("/login/provider/").status_code == 404
