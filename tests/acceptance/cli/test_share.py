"""Share links are made, listed and revoked from a terminal."""

from __future__ import annotations

import pytest

from tests.acceptance.cli.conftest import Type

pytestmark = pytest.mark.default


@pytest.mark.once
@pytest.mark.usefixtures("collection")
def test_a_page_is_shared_and_the_link_revoked(cli: Type) -> None:
    assert cli("add", "--bg", "https://example.com/shared").code == 0
    unknown = cli("share", "create", "https://example.com/shared")
    assert (unknown.code, "createsuperuser" in unknown.err) == (2, True)
    made_admin = "from django.contrib.auth.models import User; User.objects.create_superuser('eve')"
    assert cli("manage", "shell", "--command", made_admin).code == 0
    made = cli("share", "create", "https://example.com/shared", "--days", "2").record
    link = str(made["link"])
    assert link.startswith("http")
    assert link.split("/")[-2] not in cli("share", "list").out
    assert cli("share", "revoke", str(made["id"])).record["revoked_at"]
    assert cli("share", "list").records == []
    assert cli("share", "create").code == 2
