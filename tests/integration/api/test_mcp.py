"""An assistant searches, reads and adds by the Model Context Protocol, and is told no more than it asked for."""

import json
from typing import Any

import pytest

from archivebox.cli.mcp import TOOLS, answer
from archivebox.core.models import ArchiveResult, Snapshot
from tests import factories

pytestmark = pytest.mark.django_db


def ask(method: str, **params: object) -> Any:
    line = json.dumps({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).encode()
    said: Any = answer(line, TOOLS)
    assert (said["jsonrpc"], said["id"]) == ("2.0", 7)
    return said


def call(name: str, **arguments: object) -> Any:
    """What a tool says: a record, or the sentence of its error."""
    result = ask("tools/call", name=name, arguments=arguments)["result"]
    (content,) = result["content"]
    return content["text"] if result["isError"] else json.loads(content["text"])


def test_it_introduces_itself_in_the_version_that_was_asked_for() -> None:
    introduced = ask("initialize", protocolVersion="2025-03-26", capabilities={}, clientInfo={"name": "x"})["result"]
    assert (introduced["protocolVersion"], introduced["capabilities"]) == ("2025-03-26", {"tools": {}})
    assert ask("initialize", protocolVersion="1999-01-01")["result"]["protocolVersion"] == "2025-06-18"
    assert answer(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}', TOOLS) is None
    assert ask("ping")["result"] == {}


def test_its_tools_are_described() -> None:
    tools = {tool["name"]: tool for tool in ask("tools/list")["result"]["tools"]}
    assert set(tools) == {"search", "text", "add", "status"}
    assert tools["add"]["annotations"]["readOnlyHint"] is False
    assert tools["text"]["inputSchema"]["required"] == ["snapshot"]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"not json", -32700),
        (b'{"id": 1}', -32600),
        (b'{"id": 1, "method": "tools/steal"}', -32601),
        (b'{"id": 1, "method": "tools/call", "params": {"name": "rm"}}', -32602),
        (b'{"id": 1, "method": "tools/call", "params": {"name": "text"}}', -32602),
        (b'{"id": 1, "method": "tools/call", "params": {"name": "status", "arguments": {"deep": 1}}}', -32602),
    ],
)
def test_what_is_no_request_has_its_code(line: bytes, code: int) -> None:
    said: Any = answer(line, TOOLS)
    assert said["error"]["code"] == code


def test_a_page_is_found_and_its_text_read_in_parts() -> None:
    snapshot = factories.snapshot("https://example.com/pears")
    folder = snapshot.path / "htmltotext"
    folder.mkdir(parents=True)
    (folder / "content.txt").write_text("Pears. " * 20_000)
    files = {"content.txt": {"size": 140_000, "mimetype": "text/plain"}}
    ArchiveResult.objects.create(snapshot=snapshot, plugin="htmltotext", status="succeeded", output_files=files)
    (found,) = call("search", query="url:pears")["pages"]
    assert found["url"] == snapshot.url
    first = call("text", snapshot=found["id"])
    assert (len(first["text"]), first["next"]) == (100_000, 100_000)
    rest = call("text", snapshot=snapshot.url, start=first["next"])
    assert (len(rest["text"]), rest["next"]) == (40_000, None)


def test_it_adds_pages_but_none_of_a_private_network() -> None:
    added = call("add", urls=["https://example.com/a", "https://example.com/b"])
    assert [page["url"] for page in added["pages"]] == ["https://example.com/a", "https://example.com/b"]
    assert added["at_work"] is False
    assert "private network" in call("add", urls=["http://10.0.0.1/"])
    assert "Nothing given" in call("add", urls=[])
    assert Snapshot.objects.count() == 2
    assert call("status")["snapshots"] == {"queued": 2}


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("search", {"query": "(a"}),
        ("search", {"query": "a", "limit": 51}),
        ("text", {"snapshot": "x"}),
        ("text", {"snapshot": "https://nowhere.example/"}),
        ("add", {"urls": ["javascript:1"]}),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(name: str, arguments: dict[str, object]) -> None:
    assert call(name, **arguments).endswith((".", "there."))
