"""The admin lists processes as people look for them, and changes nothing behind the engine's back."""

import re

import pytest

from tests.webserver.fixtures import Library

LIST = "/admin/machine/process/"


@pytest.fixture(scope="module")
def library(shared_library: Library) -> Library:
    return shared_library


@pytest.mark.parametrize("model", ["machine/process", "crawls/domain"])
def test_processes_and_hosts_have_a_list_and_a_search(library: Library, model: str) -> None:
    assert library.visitor.get(f"/admin/{model}/").status == 200
    assert library.visitor.get(f"/admin/{model}/?q=x").status == 200
    assert library.visitor.get(f"/admin/{model}/add/").status == 403


def test_what_has_a_page_of_ours_is_not_there_a_second_time(library: Library) -> None:
    links = re.findall(r'href="/admin/(\w+/\w+)/"', library.visitor.get("/admin/").text)
    assert set(links) == {"machine/process", "crawls/domain"}


def test_the_columns_of_processes(library: Library) -> None:
    page = library.visitor.get(LIST).text
    columns = re.findall(r'<th scope="col" class="[^"]*column-(\w+)', page)
    assert columns == ["id", "process_type", "cmd_summary", "status", "parent_link", "started_at", "duration"]
    assert "python3 on_Snapshot__61_wget.py --url=xxxxxxxxxxxx…" in page
    assert "(running)" in page


def test_filters_by_type_status_and_machine(library: Library) -> None:
    page = library.visitor.get(LIST).text
    for field in ("process_type__exact=hook", "status__exact=exited", "machine__id__exact="):
        assert field in page
    hooks = library.visitor.get(f"{LIST}?process_type__exact=hook&status__exact=exited").text
    assert set(re.findall(r'class="field-process_type">(\w+)<', hooks)) == {"Hook"}


@pytest.mark.parametrize(("words", "found"), [("wget.py", 1), ("could+not+find", 1), ("no-such-words", 0)])
def test_search_looks_into_command_and_output(library: Library, words: str, found: int) -> None:
    page = library.visitor.get(f"{LIST}?q={words}&process_type__exact=hook").text
    assert len(re.findall(r'class="field-process_type"', page)) == found


def test_the_page_of_a_process_shows_its_family_and_cannot_be_saved(library: Library) -> None:
    page = library.visitor.get(f"{LIST}{library.hook}/change/").text
    tree = re.search(r"from the root to here.*?<pre>(.*?)</pre>", page, re.DOTALL | re.IGNORECASE)
    assert tree
    lines = re.sub(r"<[^>]+>", "", tree.group(1)).splitlines()
    assert lines == [
        "worker: python3 -m archivebox (pid 11) running",
        "└── hook: python3 on_Snapshot__61_wget.py --url=" + "x" * 80 + " (pid 12) exit 3",
    ]
    whole = re.search(r"the whole tree.*?<pre>(.*?)</pre>", page, re.DOTALL | re.IGNORECASE)
    assert whole
    assert re.sub(r"<[^>]+>", "", whole.group(1)).splitlines()[2] == "    └── binary: wget (pid 13) exit -15"
    assert re.search(r"Children:</label>.*?1</div>", page, re.DOTALL)
    assert re.search(r"Depth:</label>.*?1</div>", page, re.DOTALL)
    assert "could not find &lt;wget&gt;" in page
    assert 'name="_save"' not in page


def test_what_no_worker_holds_is_neither_asked_to_end_nor_signalled(library: Library) -> None:
    page = library.visitor.get(f"{LIST}?status__exact=running&q=archivebox").text
    worker = next(
        key for key in re.findall(r'name="_selected_action" value="([^"]+)"', page)
        if "elsewhere" in library.visitor.get(f"{LIST}{key}/change/").text
    )  # fmt: skip
    answer = library.visitor.post(LIST, action="terminate", _selected_action=worker)
    assert answer.status == 302
    assert "0 of the chosen processes" in library.visitor.get(LIST).text
    assert not re.search(r"Request:</label>.*?kill", library.visitor.get(f"{LIST}{worker}/change/").text, re.DOTALL)
    assert library.server.ask("/health/").status == 200
