"""Somebody whom a trusted proxy names is in, as whoever that is here; the proxy itself is in test_trusted_proxies."""

from collections.abc import Callable, Iterator

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client, override_settings

from archivebox.accounts.roles import Role, role_of
from archivebox.base_models.users import system_user

pytestmark = pytest.mark.django_db
Ask = Callable[[str], int]


@pytest.fixture
def ask(pages: None) -> Iterator[Ask]:
    """The status of the crawls' page for whom the proxy names; ``""``: for whom it names nobody."""
    del pages
    before = settings.MIDDLEWARE
    at = before.index("django.contrib.auth.middleware.AuthenticationMiddleware") + 1
    proxied = {
        "REVERSE_PROXY_USER_HEADER": "Remote-User",
        "MIDDLEWARE": [*before[:at], "archivebox.web.auth.proxy_login.proxy_login", *before[at:]],
        "AUTHENTICATION_BACKENDS": ["archivebox.web.auth.proxy_login.ProxyBackend"],
    }
    client = Client(SERVER_NAME="localhost")

    def asked(name: str) -> int:
        return client.get("/crawls/", headers={"Remote-User": name} if name else None).status_code

    with override_settings(**proxied):
        yield asked


def test_somebody_new_is_a_viewer_and_goes_with_the_header(ask: Ask) -> None:
    assert [ask(""), ask("anna"), ask("anna"), ask("")] == [302, 200, 200, 302]
    assert role_of(User.objects.get(username="anna")) is Role.VIEWER
    assert not User.objects.get(username="anna").has_usable_password()


def test_somebody_known_is_whoever_that_is_and_never_two(ask: Ask) -> None:
    User.objects.create_superuser("eve")
    User.objects.create_user("gone", is_active=False)
    system_user()
    assert [ask("eve"), ask("gone"), ask("system"), ask("eve,gone"), ask("a b")] == [200, 302, 302, 302, 302]
    assert not User.objects.filter(username__in=["eve,gone", "a b"]).exists()
