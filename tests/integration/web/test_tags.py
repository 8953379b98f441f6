"""Tags are made, found by some of their letters, renamed, made one, and given up; their pages stay."""

import re

import pytest

from tests.webserver.fixtures import Library

pytestmark = pytest.mark.database


def tags(library: Library, name: str = "") -> dict[str, tuple[str, str]]:
    """Name → how many pages have it, and where it is changed."""
    page = library.visitor.get(f"/tags/?name={name}").text
    rows = re.findall(
        r"<span>([^<]+)</span></a><span[^>]*>([^<]+)</span>.*?action=\"(/tags/[^\"]+/)\"", page, re.DOTALL
    )
    return {found: (count, address) for found, count, address in rows}


def change(library: Library, tag: str, **fields: str) -> int:
    return library.visitor.post(tags(library)[tag][1], form_at="/tags/", **fields).status


def test_a_tag_lives_from_its_making_to_its_end(library: Library) -> None:
    assert tags(library)["news"][0] == "70"
    assert library.visitor.post("/tags/", name="Slow  food").status == 302
    assert tags(library)["Slow food"][0] == "0"
    assert library.visitor.post("/tags/", name="!").status == 422
    assert change(library, "news", do="rename", name="Reports") == 302
    assert tags(library)["Reports"][0] == "70"
    assert change(library, "Slow food", do="rename", name="reports") == 409, "that is another tag's"
    assert change(library, "Reports", do="merge", into="nothing") == 422
    assert change(library, "Reports", do="merge", into="Slow food") == 302
    assert tags(library) == {"Slow food": ("70", tags(library)["Slow food"][1])}
    assert change(library, "Slow food", do="delete") == 302
    assert tags(library) == {}
    assert "Story 69" in library.visitor.get("/").text


def test_some_letters_find_a_tag_the_nearest_first(library: Library) -> None:
    for name in ("recipes", "old recipes", "rare copies", "music"):
        library.visitor.post("/tags/", name=name)
    assert list(tags(library, "reci")) == ["recipes", "old recipes", "rare copies"]
    assert list(tags(library, "rcp")) == ["old recipes", "rare copies", "recipes"]
    assert "No tag named “x(y”" in library.visitor.get("/tags/?name=x(y").text
    library.visitor.post("/tags/", name="a" * 100)
    library.visitor.post("/tags/", name="[^-x]")
    assert list(tags(library, "a" * 40)) == ["a" * 100]
    assert list(tags(library, "[-]")) == ["[^-x]"]
    assert list(tags(library, "a" * 40 + "b")) == [], "there are too many ways in which it does not match"


def test_a_list_is_changed_in_its_place(library: Library) -> None:
    library.visitor.post("/tags/", name="old")
    cookie = f"archivebox_session={library.visitor.jar['archivebox_session']}"
    part = library.server.ask("/tags/", Cookie=cookie, HX_Request="true").text
    assert part.lstrip().startswith('<section id="tags">')
    assert 'hx-swap-oob="true"' in part
