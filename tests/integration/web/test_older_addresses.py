"""Addresses that a page had in an earlier ArchiveBox lead to it."""

import pytest

from tests.webserver.fixtures import Library
from tests.webserver.server import in_collection

pytestmark = pytest.mark.once

IMPORTED = """
from archivebox.core.models import Snapshot
from archivebox.imports.models import ImportedSnapshot
page = Snapshot.objects.order_by("pk").first()
ImportedSnapshot.objects.create(snapshot=page, source="a collection", key="1600000000.5",
    former_id="06b07ef0-5586-7e58-8000-c04333b655ab")
print(page.pk)
"""


@pytest.fixture(scope="module")
def library(shared_library: Library) -> Library:
    return shared_library


def test_an_address_of_an_earlier_version_leads_to_its_page_and_format(library: Library) -> None:
    key = in_collection(library.server.folder, IMPORTED).strip()
    for path, view in (("", ""), ("index.html", ""), ("singlefile.html", "?view=singlefile"),
                       ("warc/1.warc.gz", "?view=wget"), ("example.com/index.html", "?view=wget")):  # fmt: skip
        answer = library.visitor.get(f"/archive/1600000000.5/{path}")
        assert (answer.status, answer.headers["location"]) == (302, f"/snapshots/{key}/{view}")
    former = "06b07ef055867e588000c04333b655ab"
    for path in (
        f"/snapshot/{former}/",
        "/snapshot/06b07ef0-5586-7e58-8000-c04333b655ab",
        f"/ada/20261126/a.example/{former}/",
    ):
        assert library.visitor.get(path).headers["location"] == f"/snapshots/{key}/"
    assert library.visitor.get(f"/snapshot/{former[::-1]}/").status == 404
    assert library.visitor.get("/archive/1600000000.6/").status == 404
    assert library.stranger().get("/archive/1600000000.5/").headers["location"].startswith("/login/")
