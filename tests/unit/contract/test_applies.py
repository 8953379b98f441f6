"""Which pages a hook is for, judged without starting it."""

import json
from pathlib import Path

import pytest

from archivebox.contract.applies import ANY_PAGE, Applies, PageFacts, read_applies
from archivebox.contract.discovery import read_plugin
from archivebox.lib.jsonl import JSON

PDF = PageFacts("https://example.com/a.pdf", 200, "application/pdf")
HTML = PageFacts("https://example.com/", 200, "text/html")
GONE = PageFacts("https://example.com/", 404, "text/html")
UNKNOWN = PageFacts()
NOTHING = PageFacts("https://example.com/")


def applies(**conditions: JSON) -> Applies:
    found, problems = read_applies(dict(conditions))
    assert problems == []
    return found


@pytest.mark.parametrize(
    ("conditions", "facts", "refused"),
    [
        ({}, PDF, None),
        ({"mime": r"text/html|application/xhtml\+xml"}, HTML, None),
        ({"mime": r"text/html|application/xhtml\+xml"}, PDF, "not_applicable:application/pdf"),
        ({"mime": "TEXT/HTML"}, HTML, None),
        ({"mime": "text"}, HTML, "not_applicable:text/html"),
        ({"mime": "text/html"}, UNKNOWN, None),
        ({"status": "2.."}, HTML, None),
        ({"status": "2.."}, GONE, "not_applicable:status 404"),
        ({"status": "2..", "mime": "text/html"}, GONE, "not_applicable:status 404"),
        ({"status": "2.."}, UNKNOWN, None),
        ({"mime": "text/html"}, NOTHING, "nothing_came"),
        ({"status": "..."}, NOTHING, "nothing_came"),
        ({"url": "example"}, NOTHING, None),
        ({}, NOTHING, None),
        ({"url": r"^https://github\.com/"}, HTML, "not_applicable:such URLs"),
        ({"url": r"example\.com"}, UNKNOWN, None),
    ],
)
def test_a_hook_is_skipped_for_what_it_is_not_for(
    conditions: dict[str, JSON], facts: PageFacts, refused: str | None
) -> None:
    assert applies(**conditions).reason_against("https://example.com/", facts) == refused


def test_only_media_type_and_status_wait_for_a_navigation() -> None:
    assert not ANY_PAGE.needs_facts
    assert not applies(url="x").needs_facts
    assert applies(mime="x").needs_facts
    assert applies(status="x").needs_facts


@pytest.mark.parametrize(
    ("files", "is_for"),
    [
        ({"dom/a.html": "a <VIDEO src=x>"}, True),
        ({"dom/a.html": "words"}, False),
        ({"dom/a.html": "words", "index.jsonl": '{"mime":"video/mp4"}'}, True),
        ({"dom/a.html": "words", "index.jsonl": '{"mime":"text/css"}'}, False),
        ({"index.jsonl": '{"mime":"text/css"}'}, True),
        ({}, True),
        ({"dom/a.html": "\udcff words"}, False),
    ],
)
def test_a_hook_for_content_applies_to_pages_that_contain_it_or_stored_nothing(
    tmp_path: Path, files: dict[str, str], is_for: bool
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, errors="surrogateescape")
    conditions = applies(contains={"dom/a.html": "<video|<audio", "index.jsonl": '"mime":"video/'})

    assert conditions.is_for_content_of(tmp_path) is is_for
    assert not conditions.needs_facts


def test_a_hook_has_nothing_to_do_where_a_file_is_that_must_not_be(tmp_path: Path) -> None:
    conditions = applies(absent=["file.json", "other.json"])
    before = conditions.is_for_content_of(tmp_path)
    (tmp_path / "other.json").touch()

    assert before
    assert not conditions.is_for_content_of(tmp_path)
    assert read_applies({"absent": "file.json"})[1] == ["absent is not a list of files"]


def test_a_page_too_large_to_be_searched_is_not_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("archivebox.contract.applies.MAX_SEARCHED", 4)
    (tmp_path / "page.html").write_text("words")

    assert applies(contains={"page.html": "<video"}).is_for_content_of(tmp_path)


@pytest.mark.parametrize("contains", [["page.html"], {"page.html": "("}])
def test_content_that_is_not_understood_is_said_and_refuses_nothing(contains: JSON, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("words")
    conditions, problems = read_applies({"contains": contains})

    assert len(problems) == 1
    assert conditions.is_for_content_of(tmp_path)


def test_what_is_not_understood_is_said_and_refuses_nothing(tmp_path: Path) -> None:
    declared: JSON = {"x-hooks": {"on_Snapshot__50_x.sh": {"applies": {"mime": "(", "color": "red", "status": "2.."}}}}
    (tmp_path / "on_Snapshot__50_x.sh").write_text("")
    (tmp_path / "config.json").write_text(json.dumps(declared))
    plugin = read_plugin("x", tmp_path)
    assert plugin is not None
    assert len(plugin.warnings) == 2
    assert any("mime is not a regular expression" in warning for warning in plugin.warnings)
    assert any("no condition color" in warning for warning in plugin.warnings)
    (hook,) = plugin.hooks
    assert hook.applies.mime is None
    assert hook.applies.reason_against("https://example.com/", GONE) == "not_applicable:status 404"
