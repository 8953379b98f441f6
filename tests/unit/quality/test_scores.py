"""What is lost from a page is counted, said in a table, and held against the thresholds."""

from PIL import Image, ImageDraw

from tests.quality import table
from tests.quality.archive import Captured
from tests.quality.eyes import HEIGHT, WIDTH, Requests, View, words_of
from tests.quality.measure import Measured
from tests.quality.samples import Sample
from tests.quality.score import Score, score_of

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


def test_a_view_is_scored_by_tiles_words_and_what_the_live_page_has_besides() -> None:
    live = view(10, "one two three four", {"http://a/404"})
    assert score_of(live, live) == Score(0.0, 0.0, 0)
    score = score_of(live, view(9, "one two three", {"http://a/404", "http://a/b", "http://a/c"}))
    assert score.tiles is not None
    assert 3 < score.tiles < 20
    assert (score.words, score.missing) == (25.0, 2)


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
