"""How the search engine is asked: ours in this process, the program of another once for a query, few at a time."""

import json
import sys
from contextlib import ExitStack

import pytest
from django.db import OperationalError, connection
from django.test import Client

from archivebox.base_models.visibility import EVERYTHING
from archivebox.cli.doctor import search_index
from archivebox.config.settings import DATA_FOLDER
from archivebox.core.models import Snapshot
from archivebox.search.backend import AT_ONCE, SearchUnavailableError, chosen_backend, limited_to, search_turn
from archivebox.search.query import chosen
from tests import factories

pytestmark = pytest.mark.usefixtures("collection")
FIFTY = " or ".join(f"word{number}" for number in range(50))
started: list[object] = []
sys.addaudithook(lambda event, args: started.append(args[1]) if event == "subprocess.Popen" else None)


@pytest.fixture
def page() -> Snapshot:
    snapshot = factories.crawl("https://a.example/").snapshot_set.get()
    write(snapshot, "pears and word7 of many")
    return snapshot


def write(snapshot: Snapshot, text: str) -> None:
    file = snapshot.path / "htmltotext" / "htmltotext.txt"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def found(query: str) -> list[Snapshot]:
    return list(chosen(query, EVERYTHING).rows)


def test_a_bundled_engine_is_asked_without_a_process(page: Snapshot) -> None:
    engine = chosen_backend()
    assert engine is not None
    engine.flush()
    assert engine.index([page]) == 1
    started.clear()
    assert found("pears") == found(FIFTY) == found('"of many"') == found("wor*") == [page]
    assert found("pears -many") == found("plums") == []
    engine.remove([page])
    assert found("pears") == []
    assert started == []


OWN = f"""
import json, sys
with open({str(DATA_FOLDER.root / "starts")!r}, "a") as file:
    file.write(sys.argv[1] + "\\n")
for line in sys.stdin:
    request = json.loads(line)
    if sys.argv[1] == "index":
        print(json.dumps({{"type": "Indexed", "snapshot": request["snapshot"], "texts": 3}}), flush=True)
    elif request["words"] == ["broken"]:
        sys.exit("The engine has no such word.")
    else:
        if request["words"] == ["word7"]:
            print(json.dumps({{"type": "Hit", "snapshot": PAGE, "plugin": "htmltotext", "file": "htmltotext.txt"}}))
        print(json.dumps({{"type": "Answered"}}), flush=True)
"""


@pytest.mark.once
def test_the_program_of_another_engine_is_started_once_for_a_query(page: Snapshot) -> None:
    folder = DATA_FOLDER.plugins / "search_backend_sqlite"
    folder.mkdir(parents=True)
    (folder / "own.py").write_text(f"PAGE = {str(page.pk)!r}\n{OWN}")
    (folder / "config.json").write_text(json.dumps({"x-search": {"engine": "sqlite", "script": "own.py"}}))
    engine = chosen_backend()
    assert engine is not None
    assert engine.index([page, page]) == 6
    assert found(FIFTY) == [page]
    assert (DATA_FOLDER.root / "starts").read_text().split() == ["index", "query"]
    with pytest.raises(SearchUnavailableError, match="no such word"):
        found("broken")


@pytest.mark.once
def test_a_search_is_interrupted_in_the_database() -> None:
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"
    with pytest.raises(OperationalError), limited_to(0.05), connection.cursor() as cursor:
        cursor.execute(endless)


def test_a_search_beyond_those_at_a_time_is_sent_away(admin_client: Client) -> None:
    with ExitStack() as others:
        for _ in range(AT_ONCE):
            others.enter_context(search_turn("others"))
        busy = [admin_client.get("/", {"q": "pears"}), admin_client.get("/api/v1/snapshots", {"q": "pears"})]
        assert [(answer.status_code, answer.headers["Retry-After"]) for answer in busy] == [(503, "5")] * 2
        assert admin_client.get("/").status_code == 200
    assert admin_client.get("/", {"q": "pears"}).status_code == 200


@pytest.mark.once
def test_doctor_finds_a_damaged_search_index(page: Snapshot) -> None:
    engine = chosen_backend()
    assert engine is not None
    engine.index([page])
    file = DATA_FOLDER.root / "search.sqlite3"
    assert [check.state for check in search_index()] == ["ok"]
    whole = file.read_bytes()
    file.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    assert [(check.state, check.action) for check in search_index()] == [("error", "archivebox manage reindex")]
