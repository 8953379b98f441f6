"""How much of a page its replay has: of what it asked for, and of the words that it showed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.plugins_bundled.text.test_text import run_hook, store_dom
from tests.webserver.recording import Page, record

URL = "https://site.test/"
WORDS = "<p>" + "Pears keep in a cellar until spring. " * 3


def store(snapshot: Path, html: str, files: dict[str, Page], **failures: str) -> None:
    """What the recorder has of a page with these files, and of those that it did not get."""
    failed = {f"{URL}{name}": error for name, error in failures.items()}
    record(snapshot, {URL: Page(html.encode()), **{URL + name: page for name, page in files.items()}}, failed)
    change(snapshot, "", main=True)


def change(snapshot: Path, name: str, **facts: Any) -> None:
    """Add to what the log says of one file."""
    index = snapshot / "responses" / "index.jsonl"
    lines = [json.loads(line) for line in index.read_text().splitlines()]
    changed = [line | (facts if line["url"] == URL + name else {}) for line in lines]
    index.write_text("".join(json.dumps(line) + "\n" for line in changed))


def measured(snapshot: Path) -> tuple[int, dict[str, dict[str, Any]]]:
    """The lowest estimate, and the measures by name; the page is given none as its quality."""
    done = run_hook("quality", snapshot)
    assert done.others == []
    assert done.result["status"] == "succeeded"
    measures = {one["name"]: one for one in done.result["output_json"]["measures"]}
    return int(done.result["output_str"].split()[1]), measures


def test_what_the_page_asked_for_and_replay_lacks_is_named_with_why(tmp_path: Path) -> None:
    store(tmp_path, WORDS, {"a.css": Page(b"a"), "film": Page(b"cut")}, font="net::ERR_TIMED_OUT")
    change(tmp_path, "film", truncated="length")
    quality, measures = measured(tmp_path)
    assert quality == measures["resources"]["percent"] == 50
    assert dict(measures["resources"]["missing"]) == {
        f"{URL}film": "larger than what is kept whole",
        f"{URL}font": "no answer: net::ERR_TIMED_OUT",
    }
    assert measures["resources"]["sentence"] == "2 of the 4 files that the page asked for are kept whole."


def test_what_the_site_lacks_or_the_page_called_off_is_no_loss_of_ours(tmp_path: Path) -> None:
    files = {"gone.png": Page(b"no", status=404), "old": Page(status=301, to=f"{URL}new"), "new": Page(b"new")}
    store(tmp_path, WORDS, files, ad="net::ERR_BLOCKED_BY_CLIENT", beacon="net::ERR_ABORTED", frame="csp")
    quality, measures = measured(tmp_path)
    assert quality == 100
    assert measures["resources"]["missing"] == []
    assert measures["text"]["percent"] is None, "the page was not kept as it was shown"


@pytest.mark.parametrize("status", [429, 503])
def test_an_answer_that_says_not_now_is_a_loss_until_it_says_more(tmp_path: Path, status: int) -> None:
    store(tmp_path, WORDS, {"later": Page(b"wait", status=status)})
    assert dict(measured(tmp_path)[1]["resources"]["missing"]) == {f"{URL}later": f"the server answered {status}"}
    log = tmp_path / "responses" / "index.jsonl"
    said = json.loads(log.read_text().splitlines()[-1])
    log.write_text(log.read_text() + json.dumps(said | {"status": 200}) + "\n")
    assert measured(tmp_path)[0] == 100


def test_words_that_scripts_wrote_are_not_in_replay(tmp_path: Path) -> None:
    store(tmp_path, WORDS, {})
    store_dom(tmp_path, WORDS + "<p>" + "Comments by many readers. " * 21)
    (tmp_path / "article").mkdir()
    (tmp_path / "article" / "article.txt").write_text("Pears keep in a CELLAR until spring.")
    quality, measures = measured(tmp_path)
    assert quality == measures["text"]["percent"] == 20
    assert "scripts, which are off in replay, wrote the rest" in measures["text"]["sentence"]
    assert (measures["resources"]["percent"], measures["article"]["percent"]) == (100, 100)


def test_of_a_page_that_was_not_recorded_nothing_is_said(tmp_path: Path) -> None:
    store_dom(tmp_path, WORDS)
    done = run_hook("quality", tmp_path)
    assert (done.result["status"], done.others) == ("noresults", [])
