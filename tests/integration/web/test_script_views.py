"""A script view answers what was recorded to whoever has its host name, until it ends, and nothing else."""

import json
import re
from pathlib import Path

import pytest

from tests.webserver.fixtures import Library
from tests.webserver.recording import Page, record_all
from tests.webserver.rows import NAME, PASSWORD
from tests.webserver.server import Answer, Visitor, in_collection

pytestmark = pytest.mark.once

HOME = b'<!doctype html><html><head><title>Live</title></head><body><script src="/app.js"></script></body></html>'


@pytest.fixture(scope="module")
def recorded(library: Library) -> Library:
    at = library.url.partition("/story")[0]
    answers = [
        (library.url, Page(HOME)),
        (f"{at}/app.js", Page(b"'use strict'; run()", "text/javascript")),
        (f"{at}/api", Page(b'{"n":1}', "application/json")),
        (f"{at}/api", Page(b'{"n":2}', "application/json")),
        (f"{at}/graphql", Page(b"one", "text/plain", method="POST", sent=b'{"a":1,"b":2}')),
        (f"{at}/graphql", Page(b"two", "text/plain", method="POST", sent=b'{"a":2,"b":2}')),
        ("https://cdn.example/lib/a.js", Page(b"import '/lib/b.js'", "text/javascript")),
        ("https://cdn.example/lib/b.js", Page(b"export default 1", "text/javascript")),
    ]
    record_all(Path(library.folder), answers)
    return library


def begin(visitor: Visitor, library: Library) -> tuple[str, str]:
    """Host name of a new view, and the page of the app that shows it."""
    page = visitor.post(f"/snapshots/{library.snapshot}/?view=replay", scripts="run").text
    found = re.search(r'<iframe src="http://(v-[0-9a-f]{32}\.localhost:\d+)(/[^"]*)" sandbox="([^"]*)"', page)
    assert found, page
    assert found[2] == "/story/69"
    assert found[3] == "allow-scripts allow-same-origin"
    return found[1], page


def ask(library: Library, host: str, path: str, method: str = "GET", body: bytes = b"", **headers: str) -> Answer:
    return library.server.ask(path, port=library.server.replay_port, host=host, method=method, body=body, **headers)


@pytest.fixture(scope="module")
def host(recorded: Library) -> str:
    return begin(recorded.visitor, recorded)[0]


def test_a_document_runs_in_a_frame_and_never_in_a_tab(recorded: Library, host: str) -> None:
    framed = ask(recorded, host, "/story/69", Sec_Fetch_Dest="iframe", Cookie="archivebox_session=x")
    policy = framed.headers["content-security-policy"]
    assert framed.status == 200
    assert "connect-src 'self' data: blob:" in policy
    assert policy.endswith("sandbox allow-scripts allow-same-origin")
    assert framed.cookies == []
    assert framed.headers["referrer-policy"] == "same-origin"
    assert framed.headers["cache-control"] == "no-store"
    assert framed.text.startswith('<!doctype html><script src="/~/shim.js"'), "before every script of the page"
    for destination in ("document", ""):
        policy = ask(recorded, host, "/story/69", Sec_Fetch_Dest=destination).headers["content-security-policy"]
        assert "script-src 'none'" in policy
        assert "allow-scripts" not in policy


def test_what_a_script_fetches_has_no_right_to_run_anything(recorded: Library, host: str) -> None:
    answer = ask(recorded, host, "/story/69", Sec_Fetch_Dest="empty")
    assert answer.body == HOME, "as it came"
    assert answer.headers["content-security-policy"].endswith("; sandbox")


def test_neither_files_nor_other_snapshots_nor_service_workers_are_answered(recorded: Library, host: str) -> None:
    page = recorded.visitor.get(f"/snapshots/{recorded.snapshot}/").text
    found = re.search(r'http://[^/"]+(/[0-9a-f]{32}\.[^/"]+/)', page)
    assert found
    assert ask(recorded, host, f"{found[1]}singlefile/singlefile.html").status == 404
    assert ask(recorded, host, "/singlefile/singlefile.html").status == 404
    assert ask(recorded, host, "/~/secret").status == 403
    assert ask(recorded, host, "/app.js", Service_Worker="script").status == 403
    assert ask(recorded, host, "/app.js", Sec_Fetch_Dest="serviceworker").status == 403
    unknown = host.replace(host[2:34], "0" * 32)
    assert ask(recorded, unknown, "/app.js").status == 403
    missing = ask(recorded, host, "/elsewhere", Sec_Fetch_Dest="empty")
    assert (missing.status, missing.headers["archived-missing"]) == (404, "1")


def test_a_script_gets_one_recorded_answer_after_the_other(recorded: Library, host: str) -> None:
    def fetched(document: str) -> str:
        return ask(recorded, host, "/api", Sec_Fetch_Dest="empty", archived_document=document).text

    assert [fetched("a"), fetched("a"), fetched("a"), fetched("b")] == ['{"n":1}', '{"n":2}', '{"n":2}', '{"n":1}']


def test_a_request_with_a_body_gets_the_answer_to_that_body(recorded: Library, host: str) -> None:
    def posted(body: bytes, path: str = "/graphql") -> tuple[int, str]:
        answer = ask(recorded, host, path, "POST", body, Sec_Fetch_Dest="empty")
        return answer.status, answer.text if answer.status == 200 else ""

    assert posted(b'{"b": 2, "a": 2}') == (200, "two")
    assert posted(b'{"b": 2, "a": 3}') == (404, ""), "another question is not answered"
    assert posted(b"{}", "/api") == (404, "")
    assert posted(b"x" * (1 << 20) + b"x")[0] == 413


def test_a_module_of_another_host_finds_its_siblings(recorded: Library, host: str) -> None:
    referrer = f"http://{host}/~/https://cdn.example/lib/a.js"
    answer = ask(recorded, host, "/lib/b.js", Sec_Fetch_Dest="script", Referer=referrer)
    assert (answer.status, answer.headers["location"]) == (307, "/~/https://cdn.example/lib/b.js")
    assert ask(recorded, host, answer.headers["location"]).body == b"export default 1"


def test_a_worker_begins_with_the_shim(recorded: Library, host: str) -> None:
    answer = ask(recorded, host, "/app.js", Sec_Fetch_Dest="worker")
    assert answer.text.startswith('"use strict";self.__archivedPage={"url": "http://site69.example/app.js"')
    assert answer.text.endswith("run()")
    assert "connect-src 'self' data: blob:" in answer.headers["content-security-policy"]


def test_a_view_ends_with_the_log_out(recorded: Library) -> None:
    somebody = recorded.stranger()
    somebody.log_in(NAME, PASSWORD)
    host, _ = begin(somebody, recorded)
    assert ask(recorded, host, "/app.js").status == 200
    somebody.post("/logout/", form_at="/")
    assert ask(recorded, host, "/app.js").status == 403


def test_a_view_is_renewed_by_its_own_viewer_counts_what_was_refused_and_is_stopped(recorded: Library) -> None:
    host, page = begin(recorded.visitor, recorded)
    found = re.search(rf'action="(/snapshots/{recorded.snapshot}/scripts/[^"]+)"', page)
    assert found
    ask(recorded, host, "/~/violations", "POST", b"{}")
    renewed = recorded.visitor.post(found[1], form_at="/", do="renew")
    assert json.loads(renewed.text) == {"refused": 1}
    somebody = recorded.stranger()
    somebody.log_in(NAME, PASSWORD)
    assert somebody.post(found[1], form_at="/", do="renew").status == 404
    assert recorded.visitor.post(found[1], form_at="/", do="end").status == 302
    assert ask(recorded, host, "/app.js").status == 403


def test_a_view_expires_and_its_row_says_nothing_of_its_label(recorded: Library) -> None:
    host, _ = begin(recorded.visitor, recorded)
    code = (
        "from django.utils import timezone\nfrom archivebox.replay.models import ScriptView\n"
        "view = ScriptView.objects.order_by('-id')[0]\nprint(vars(view))\n"
        "ScriptView.objects.filter(pk=view.pk).update(expires_at=timezone.now())"
    )
    assert host[2:34] not in in_collection(recorded.server.folder, code)
    assert ask(recorded, host, "/app.js").status == 403


def test_a_link_starts_no_view(recorded: Library) -> None:
    page = recorded.visitor.get(f"/snapshots/{recorded.snapshot}/?view=replay&scripts=run").text
    assert "allow-scripts" not in page
    assert "WebRTC" in page, "which is said before"
