"""What is kept of a page is chosen by what it is to people; plugins are chosen one by one by those who want that."""

import json

import pytest

from tests.webserver.fixtures import Library
from tests.webserver.server import in_collection

pytestmark = pytest.mark.once

CONFIG = """
import json, sys
from django.contrib.auth.models import AnonymousUser
from django.http import QueryDict
from archivebox.web.page.crawl_form import kinds_of
from archivebox.web.views.add import AddForm
form = AddForm(QueryDict("urls=http://a.example/&depth=0&" + sys.argv[1]), user=AnonymousUser())
names = list(form.request().plugins) if form.is_valid() else None
print(json.dumps([names, kinds_of(names or []), form.errors]))
"""


@pytest.fixture(scope="module")
def library(shared_library: Library) -> Library:
    return shared_library


def chosen(library: Library, query: str) -> tuple[list[str] | None, list[str], dict[str, list[str]]]:
    """The plugins that a choice comes to (None: it was refused), the kinds that these come to, and why not."""
    names, kinds, errors = json.loads(in_collection(library.server.folder, CONFIG, query))
    return names, kinds, errors


def test_outputs_are_chosen_by_what_is_kept(library: Library) -> None:
    names, kinds, _ = chosen(library, "keep=&keep=pdf&keep=text")
    assert names is not None
    assert {"pdf", "article", "title", "hashes", "dom"} <= set(names)
    assert not {"screenshot", "singlefile", "warc", "ytdlp", "git", "archive_org", "pip"} & set(names)
    assert kinds == ["pdf", "text"], "whoever changes a schedule finds what they chose"


def test_every_kind_leaves_it_to_the_settings_and_none_is_asked_about(library: Library) -> None:
    every = "keep=picture&keep=pdf&keep=single_file&keep=replay&keep=text&keep=media&keep=source_code"
    assert chosen(library, every)[0] == []
    assert chosen(library, "")[0] == [], "who knows of no kinds is not asked"
    names, _, errors = chosen(library, "keep=")
    assert (names, errors) == (None, {"keep": ["Choose at least one."]})
    assert chosen(library, "keep=hat")[0] is None


def test_plugins_that_are_named_go_before_kinds(library: Library) -> None:
    assert chosen(library, "keep=&keep=text&plugins=git&plugins=dns")[:2] == (["git", "dns"], [])
