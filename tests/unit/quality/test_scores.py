"""What is lost from a page is counted, said in a table, and held against the thresholds."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from tests.quality import results, table
from tests.quality.archive import Captured
from tests.quality.eyes import HEIGHT, WIDTH, Requests, View, keep_main_part, words_of
from tests.quality.measure import Measured
from tests.quality.pywb import Read
from tests.quality.samples import SAMPLES, Sample, chosen
from tests.quality.score import Score, lost, lost_on_paper, score_of, score_of_picture

PAGE = Captured("k", "http://127.0.0.1:1/apps/react/?a=1", "", 200, "/nowhere", "archived", [])


def view(boxes: int, words: str, missing: set[str] | None = None) -> View:
    """A white page with so many black boxes of one tile each, in a row."""
    picture = Image.new("RGB", (WIDTH, HEIGHT), "white")
    pen = ImageDraw.Draw(picture)
    for number in range(boxes):
        pen.rectangle((32 * number, 0, 32 * number + 15, 15), fill="black")
    return View(picture, words_of(words), words_of(words), missing or set())


def measured(lives: bool = True, first: str = "replay", **scores: Score | None) -> Measured:
    return Measured(Sample("/apps/x", lives=lives), PAGE, Score(0.0, 0.0), first, dict(scores))


def test_words_are_counted_each_as_often_and_ideographs_one_by_one() -> None:
    assert words_of("Tide, tide 港の灯") == Counter({"tide": 2, "港": 1, "の": 1, "灯": 1})
    assert lost(words_of("a a b 港"), words_of("a b")) == 50.0
    assert lost(words_of(""), words_of("a")) == 0.0


def test_on_paper_words_that_touch_are_two_all_the_same() -> None:
    assert lost_on_paper(words_of("items about harbour"), "ItemsAbout\nhar-\n") == lost(
        words_of("a b c"), words_of("a b")
    )
    assert lost_on_paper(words_of("at"), "that") == 100.0


def test_a_view_is_scored_by_tiles_words_and_what_the_live_page_has_besides() -> None:
    live = view(10, "one two three four", {"http://a/404"})
    assert score_of(live, live) == Score(0.0, 0.0, 0)
    score = score_of(live, view(9, "one two three", {"http://a/404", "http://a/b", "http://a/c"}))
    assert score.tiles is not None
    assert 3 < score.tiles < 20
    assert (score.words, score.missing) == (25.0, 2)


def test_the_round_corners_of_the_frame_are_no_difference() -> None:
    live, shown = view(1, ""), view(1, "")
    ImageDraw.Draw(shown.picture).rectangle((0, HEIGHT - 6, 6, HEIGHT), fill="grey")
    assert score_of(live, shown).tiles == 0.0
    ImageDraw.Draw(shown.picture).rectangle((0, HEIGHT - 40, 6, HEIGHT), fill="grey")
    assert (score_of(live, shown).tiles or 0) > 0


def test_of_a_picture_of_the_whole_length_its_upper_part_is_compared(tmp_path: Path) -> None:
    live = view(10, "")
    long = Image.new("RGB", (WIDTH, 3 * HEIGHT), "white")
    long.paste(live.picture)
    long.save(tmp_path / "long.png")
    assert score_of_picture(live, tmp_path / "long.png").tiles == 0.0
    view(5, "").picture.save(tmp_path / "other.png")
    assert (score_of_picture(live, tmp_path / "other.png").tiles or 0) > 10


def test_a_page_that_lives_by_scripts_is_judged_with_them_and_by_what_a_reader_does() -> None:
    good = Score(0.5, 1.5, acts={"route": True})
    assert measured(replay=good, scripts=good).misses() == []
    failed = measured(replay=good, scripts=Score(0.0, 0.0, acts={"route": False, "details": True})).misses()
    assert failed == ["scripts: failed: route"]
    assert measured(replay=good, scripts=None).misses() == ["scripts: is not there"]
    assert measured(lives=False, replay=good, scripts=None).misses() == []
    assert len(measured(lives=False, replay=Score(1.2, 0.0)).misses()) == 1
    assert len(measured(lives=False, replay=Score(0.0, 2.2)).misses()) == 1
    assert measured(replay=good, scripts=Score(0.0, 0.0, 2, 1)).misses() == [
        "scripts: 2 addresses are missing, 1 acts of scripts were forbidden"
    ]


def test_a_pdf_and_an_article_are_judged_where_they_are_whole() -> None:
    good, poor = Score(0.0, 0.0), Score(words=2.5)
    assert measured(lives=False, replay=good, pdf=poor, article=poor).misses() == [
        "pdf: 2.5 % of words are lost", "article: 2.5 % of words are lost",
    ]  # fmt: skip
    assert measured(lives=False, replay=good, pdf=None).misses() == []
    cut = Sample("/x", cut=("pdf",))
    assert Measured(cut, PAGE, first="replay", scores={"replay": good, "pdf": poor}).misses() == []


def test_pywb_is_ahead_where_it_shows_more_than_both_of_ours() -> None:
    bad, good = Score(50.0, 50.0), Score(0.0, 0.0)
    assert len(table.behind([measured(replay=bad, scripts=bad, pywb=good)])) == 1
    assert table.behind([measured(replay=bad, scripts=good, pywb=good)]) == []
    assert table.behind([measured(replay=bad, scripts=bad)]) == []


def test_pywb_is_ahead_where_it_does_or_gets_what_ours_does_not() -> None:
    works, fails = Score(0.0, 0.0, acts={"route": True}), Score(0.0, 0.0, acts={"route": False})
    assert fails.is_worse_than(works)
    assert not works.is_worse_than(fails)
    assert not fails.is_worse_than(fails)
    assert Score(0.0, 0.0, missing=1).is_worse_than(works)


def test_the_page_has_a_line_for_each_page_and_says_who_could_not_read_a_file() -> None:
    ones = [
        measured(replay=Score(0.0, 0.0), scripts=Score(9.0, 0.0, 3), picture=Score(tiles=0.0), pdf=Score(words=1.0))
    ]
    text = table.page(ones, [Read("/x/a.warc.gz", 4, "")], "Chromium 1", "")
    assert "| `/apps/x` | 0 / 0 | tiles 0 | none | words 1.0 | **0 / 0** | 9.0 / 0, 3 missing |" in text
    assert "Measured 2026-11-25 to 2026-11-26 with Chromium 1." in table.page(
        [replace(ones[0], day=f"2026-11-2{day}") for day in (6, 5)], [], "Chromium 1", ""
    )
    assert "0 of 1 pages are good" in text
    assert "the same 4 records" in text
    assert "a.warc.gz: torn" in table.page(ones, [Read("/x/a.warc.gz", 0, "torn")], "", "")


def test_requests_that_failed_are_told_by_frame_and_those_called_off_are_not() -> None:
    requests = Requests()
    for key, frame in (("1", "top"), ("2", "inner"), ("3", "inner"), ("4", "inner")):
        sent = {"requestId": key, "frameId": frame, "request": {"url": f"http://a/{key}"}}
        assert requests.note("Network.requestWillBeSent", sent)
    requests.note("Network.responseReceived", {"requestId": "1", "response": {"status": 404}})
    requests.note("Network.loadingFailed", {"requestId": "2", "errorText": "net::ERR_FAILED"})
    requests.note("Network.loadingFailed", {"requestId": "3", "errorText": "net::ERR_ABORTED"})
    requests.note("Audits.issueAdded", {"issue": {"code": "ContentSecurityPolicyIssue"}})
    assert requests.missing({"inner"}) == {"http://a/2"}
    assert (requests.open, requests.violations) == ({"1", "4"}, 1)


def test_samples_are_chosen_by_parts_of_their_paths_and_known_by_them() -> None:
    assert chosen([]) == SAMPLES
    assert {one.path for one in chosen(["/charset/"])} == {
        f"/charset/{name}" for name in ("windows-1251", "shift_jis", "gb18030")
    }
    assert len({one.path for one in SAMPLES}) == len(SAMPLES)
    assert PAGE.path == "/apps/react/?a=1"


def test_what_was_measured_is_kept_and_read_again(tmp_path: Path) -> None:
    score = Score(1.0, 2.0, 3, 4, {"route": False})
    one = Measured(SAMPLES[0], PAGE, Score(0.0, 0.0), "replay", {"replay": score, "pdf": None})
    results.save(tmp_path, [one])
    assert results.load(tmp_path) == {SAMPLES[0].path: one}
    assert results.load(tmp_path / "other") == {}
    assert results.in_order(results.load(tmp_path)) == [one]


@pytest.mark.parametrize(
    ("elements", "kept"),
    [
        (["BODY", "BODY NAV", "BODY P"], ["P"]),
        (["BODY", "BODY MAIN", "BODY P"], ["MAIN"]),
        (["BODY", "BODY DIV navigation", "BODY DIV Main"], ["DIV Main"]),
        (["BODY", "BODY DIV main", "BODY P"], ["DIV main"]),
        (["BODY", "BODY LI", "BODY ::marker"], ["LI"]),
    ],
)
def test_the_main_part_of_a_page_is_known_by_elements_and_roles(elements: list[str], kept: list[str]) -> None:
    """Each element: its parent, its name, its role; what is kept: without the parent, and without the body."""
    strings = ["role", *dict.fromkeys(word for element in elements for word in element.split())]
    rows = [element.split()[1:] or element.split() for element in elements]
    nodes = {
        "nodeName": [strings.index(row[0]) for row in rows],
        "attributes": [[0, strings.index(row[1])] if len(row) > 1 else [] for row in rows],
        "parentIndex": [-1, *[0] * (len(rows) - 1)],
    }
    layout = {name: list(range(1, len(rows))) for name in ("nodeIndex", "styles", "text")}

    keep_main_part({"nodes": nodes, "layout": layout}, strings)

    assert [" ".join(rows[number]) for number in layout["nodeIndex"]] == kept
