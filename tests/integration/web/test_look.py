"""What pages are drawn with: little to load, a colour of an archived page that only its hue is taken from."""

import gzip
import re

import pytest

from tests.webserver.fixtures import Library
from tests.webserver.server import Answer, in_collection

pytestmark = pytest.mark.once

MOST = 100_000
"""Bytes of the first paint of the Library with 60 pages, beside pictures of pages."""


@pytest.fixture(scope="module")
def library(shared_library: Library) -> Library:
    return shared_library


def loaded(library: Library, path: str) -> Answer:
    answer = library.server.ask(path, Accept_Encoding="gzip")
    assert answer.status == 200, path
    return answer


def test_the_library_loads_less_than_100_kb_before_its_first_paint(library: Library) -> None:
    jar = library.visitor.jar
    page = library.server.ask("/?view=cards", Accept_Encoding="gzip", Cookie="; ".join(map("=".join, jar.items())))
    assert page.headers["content-encoding"] == "gzip"
    html = gzip.decompress(page.body).decode()
    assert html.count("data-row=") == 60
    parts = set(re.findall(r'(?:href|src)="(/static/[^"#]+)', html))
    fonts = [part for part in parts if part.partition("?")[0].endswith(".woff2")]
    assert len(parts) > 8
    assert len(fonts) == 1
    assert len(page.body) + sum(len(loaded(library, part).body) for part in parts) < MOST


SAY = """
import sys, json
from archivebox.core.models import ArchiveResult
ArchiveResult.objects.filter(snapshot=sys.argv[1], plugin="screenshot").update(output_json=json.loads(sys.argv[2]))
"""


@pytest.mark.parametrize(
    ("said", "shown"),
    [('{"hue": 212}', "210"), ('{"hue": 359}', "0"), ('{"hue": "red"}', ""), ('{"hue": 1e9}', ""), ("[3]", "")],
)
def test_a_page_has_the_hue_that_its_picture_says(library: Library, said: str, shown: str) -> None:
    in_collection(library.server.folder, SAY, library.snapshot, said)
    for path in (f"/snapshots/{library.snapshot}/", "/?view=cards"):
        assert re.findall(r'data-hue="([^"]*)"', library.visitor.get(path).text) == ([shown] if shown else [])
