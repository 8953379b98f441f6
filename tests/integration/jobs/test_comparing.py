"""How much of a page its replay shows: words and tiles of its picture, by a browser without a network."""

from __future__ import annotations

import json
from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from django.utils import timezone
from PIL import Image

from archivebox.base_models.rows import new_id
from archivebox.base_models.users import system_user
from archivebox.contract.reasons import Reason, sentence
from archivebox.core.models import ArchiveResult, Snapshot
from archivebox.core.outputs.replay_quality import Count, Score, is_lossy, percents_of, record_score
from archivebox.crawls.models import Crawl
from archivebox.jobs.action import DeferredError
from archivebox.jobs.actions import ACTIONS
from archivebox.jobs.begin import JobRequest, begin
from archivebox.jobs.comparing import AFTER_A_PROBLEM, IdleCheck, measure_when_idle
from archivebox.jobs.models import Job, JobFailure, JobPart
from archivebox.machine.models import Process
from archivebox.plugins.base.visible_words import WORD
from archivebox.replay.likeness import Comparing, PreemptedError
from tests import factories
from tests.job_runner import carried_out, leased
from tests.site.pictures import TEAL, png
from tests.status_triggers import arrange
from tests.webserver.recording import Page, record

if TYPE_CHECKING:
    from collections.abc import Sequence

pytestmark = pytest.mark.usefixtures("collection")
ORANGE = "#e76f51"
WORDS = "Pears keep in a cellar until spring. "
DOTS = "".join(f"<i style='left: {x}px'></i>" for x in range(0, 400, 40))  # of a plain page there is no tile to compare
HTML = (
    f"<!doctype html><link rel='stylesheet' href='/s.css'><body><img src='//files.example/half.png'>{DOTS}"
    "<p>{}<script>document.body.style.background = 'red'</script>"
)
CALM = HTML.partition("<script>")[0] + "</p>{}"
CSS = (
    f"body {{ margin: 0; background: {ORANGE} }} img {{ display: block }} p {{ position: absolute; top: 310px }}"
    "i { position: absolute; top: 20px; width: 8px; height: 8px; background: black }"
)


def sealed(*names: str) -> list[Snapshot]:
    crawl = factories.crawl(*(f"https://{name}.example/" for name in names))
    arrange(Crawl.objects.filter(pk=crawl.pk), status="sealed", retry_at=None)
    now = timezone.now()
    arrange(Snapshot.objects.filter(crawl=crawl), status="sealed", retry_at=None, sealed_at=now, mime_type="text/html")
    return list(Snapshot.objects.order_by("id"))


def keep(snapshot: Snapshot, html: str, *, shown: str | None = None, lacking: str = "none") -> None:
    """A page of two halves as it was sent, its picture, and the words that it showed; what lacks is not there."""
    picture = "https://files.example/half.png"
    files = {
        snapshot.url: Page(html.encode()),
        f"{snapshot.url}s.css": Page(CSS.encode(), "text/css"),
        picture: Page(png(400, 150, TEAL), "image/png"),
    }
    record(snapshot.path, {url: answer for url, answer in files.items() if not url.endswith(lacking)})
    kept = Image.new("RGB", (400, 300), ORANGE)
    kept.paste(TEAL, (0, 0, 400, 150))
    for x in range(0, 400, 40):
        kept.paste("black", (x, 20, x + 8, 28))
    (snapshot.path / "screenshot").mkdir()
    kept.save(snapshot.path / "screenshot" / "screenshot.png")
    if shown is not None:
        (snapshot.path / "dom").mkdir()
        (snapshot.path / "dom" / "words.json").write_text(json.dumps(Counter(WORD.findall(shown.casefold()))))


def estimated(snapshot: Snapshot, percent: int, missing: int = 0) -> None:
    """What the hook has made of it at its capture."""
    measures = [{"name": "resources", "percent": 90, "missing_count": missing}, {"name": "text", "percent": percent}]
    ArchiveResult.objects.create(
        snapshot=snapshot, plugin="quality", status="succeeded", output_json={"measures": measures}
    )


def measured(snapshot: Snapshot) -> tuple[int | None, list[tuple[str, int | None]]]:
    """The quality of a page, and what it is made from."""
    row = Snapshot.objects.get(pk=snapshot.pk)
    assert row.measured_at is not None
    return row.quality, [(one["name"], one["percent"]) for one in row.measures or []]


def asked_for(snapshots: Sequence[Snapshot]) -> Job:
    return begin(JobRequest("compare", created_by=system_user(), snapshots=[row.pk for row in snapshots]))


@pytest.mark.browser
def test_words_and_tiles_of_a_replay_are_counted_and_the_lower_one_is_its_quality() -> None:
    same, half, built, unsaved, unrecorded = rows = sealed("same", "half", "built", "unsaved", "unrecorded")
    whole = HTML.format(WORDS * 4)
    keep(same, whole, shown=WORDS * 4)
    keep(half, whole, shown=WORDS * 4, lacking="half.png")
    writes = f"<script>document.querySelector('p').textContent = '{WORDS * 4}'</script>"
    keep(built, CALM.format("Loading", writes), shown=WORDS * 4)
    keep(unsaved, whole)
    keep(unrecorded, whole, shown=WORDS * 4, lacking=".example/")
    job = carried_out(asked_for(rows))
    assert (job.done, job.failed) == (4, 1)
    assert measured(same) == (100, [("words", 100), ("picture", 100)])
    of_half = [("words", 100), ("picture", 0), ("words with scripts", 100), ("picture with scripts", 0)]
    assert measured(half) == (0, of_half)
    with_scripts = [("words with scripts", 100), ("picture with scripts", 100)]
    assert measured(built) == (0, [("words", 0), ("picture", 100), *with_scripts])
    assert Snapshot.objects.get(pk=built.pk).quality_with_scripts == 100
    assert Snapshot.objects.get(pk=half.pk).quality_with_scripts == 0, "its scripts change nothing but the background"
    assert Snapshot.objects.get(pk=same.pk).quality_with_scripts is None, "nothing lacks without them"
    assert measured(unsaved) == (100, [("words", None), ("picture", 100)])
    assert JobFailure.objects.get(job=job).sentence == "It was not recorded, so that it has no replay."
    assert measured(unrecorded) == (None, [("replay", None)])
    script, browser = Process.objects.exited().filter(plugin="chrome").order_by("id")
    assert (browser.parent_id, browser.status, script.status) == (script.pk, "exited", "exited")
    assert not script.is_running
    assert not browser.is_running


@pytest.mark.slow
@pytest.mark.browser
def test_saved_copies_are_measured_and_a_window_that_was_closed_makes_no_replay_poor() -> None:
    built, covered = rows = sealed("built", "covered")
    keep(built, CALM.format("Loading", ""), shown=WORDS * 4)
    copy = built.path / "singlefile" / "singlefile.html"
    copy.parent.mkdir()
    copy.write_text(f"<!doctype html><p>{WORDS * 2}")
    files = {"singlefile.html": {"size": copy.stat().st_size, "mimetype": "text/html"}}
    ArchiveResult.objects.create(snapshot=built, plugin="singlefile", status="succeeded", output_files=files)
    window = "<div style='position: fixed; inset: 0; background: black'>Accept all</div>"
    keep(covered, CALM.format(WORDS, window), shown=WORDS)
    closed = [{"kind": "window", "by": "its button", "name": "Accept all", "closed": True}]
    ArchiveResult.objects.create(snapshot=covered, plugin="modalcloser", status="succeeded", output_json=closed)
    carried_out(asked_for(rows))
    built.refresh_from_db()
    percents = percents_of(built)
    assert (percents["replay"], percents["singlefile"]) == (0, 0)
    assert ("words of singlefile", 50) in measured(built)[1]
    covered.refresh_from_db()
    assert covered.quality == 100
    assert percents_of(covered)["replay"] < 50, "it is covered, so that what is not may open first"


@pytest.mark.slow
@pytest.mark.browser
def test_a_preempted_browser_ends_with_its_processes_and_writes_nothing() -> None:
    (page,) = sealed("same")
    keep(page, HTML.format(WORDS))
    comparing = Comparing(is_preempted=lambda: bool(Process.objects.running().filter(plugin="chrome").count() > 1))
    with pytest.raises(PreemptedError), comparing:
        comparing.compare(page)
    assert not Process.objects.running().filter(plugin="chrome").exists()
    assert not any(row.is_running for row in Process.objects.filter(plugin="chrome"))
    assert Snapshot.objects.get(pk=page.pk).measured_at is None


def test_pages_are_measured_by_one_job_the_newest_first_until_none_is_left() -> None:
    rows = sealed("one", "two")
    measure_when_idle()
    measure_when_idle()
    (job,) = Job.objects.filter(kind="measure")
    assert [part.keys for part in JobPart.objects.order_by("number")] == [[rows[1].pk], [rows[0].pk]]
    carried_out(job)
    assert [measured(row) for row in rows] == [(None, [("replay", None)])] * 2, (
        "nothing was recorded: no browser starts"
    )
    assert not Process.objects.filter(plugin="chrome").exists()
    measure_when_idle()
    assert not Job.objects.filter(kind="measure", status__in=Job.OPEN).exists()

    Snapshot.objects.filter(pk=rows[0].pk).update(measured_at=None)
    measure_when_idle()
    (again,) = Job.objects.filter(kind="measure")
    assert again.pk != job.pk, "what nobody has asked for is listed once"


@pytest.mark.parametrize(
    ("columns", "begins"),
    [
        ({"status": "paused"}, False),
        ({"status": "cancelled"}, False),
        ({"status": "sealed", "problem": "There is no browser."}, False),
        ({"status": "sealed"}, True),
        ({"status": "cancelled", "modified_at": timezone.now() - 2 * AFTER_A_PROBLEM}, True),
    ],
)
def test_another_job_begins_only_where_the_one_before_it_could_do_its_work(
    columns: dict[str, object], begins: bool
) -> None:
    sealed("one")
    measure_when_idle()
    former = Job.objects.get()
    Job.objects.filter(pk=former.pk).update(**columns)
    measure_when_idle()
    assert Job.objects.exclude(pk=former.pk).exists() is begins


def test_a_page_that_ends_its_workers_is_not_measured_again() -> None:
    (page,) = sealed("one")
    measure_when_idle()
    ago = timezone.now() - 2 * AFTER_A_PROBLEM
    arrange(Job.objects.all(), status="sealed", problem=sentence(Reason.WORKER_LOST), modified_at=ago)
    measure_when_idle()
    assert measured(page) == (None, [("replay", None)])
    assert not Job.objects.filter(status__in=Job.OPEN).exists()


def test_pages_that_wait_come_first_and_those_at_work_where_no_core_is_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    (page,) = sealed("one")
    job = leased(begin(JobRequest("measure", created_by=system_user(), snapshots=[page.pk])))
    action, turn = ACTIONS["measure"](job), IdleCheck()
    action.begin_or_resume()
    assert turn.may_start()
    assert not turn.must_stop()

    factories.crawl("https://waits.example/").transition("start")
    assert turn.must_stop()
    assert not turn.may_start()
    with pytest.raises(DeferredError):
        action.prepare([page.pk])

    waiting = Snapshot.objects.exclude(pk=page.pk)
    Snapshot.claim(list(waiting.values_list("pk", flat=True)), new_id())
    assert turn.must_stop()
    monkeypatch.setattr("psutil.cpu_percent", lambda _seconds: 100.0)
    assert not turn.may_start()
    monkeypatch.setattr("psutil.cpu_percent", lambda _seconds: 0.0)
    assert turn.may_start()
    assert not turn.must_stop(), "it began beside them"
    action.close()


def test_what_has_changed_since_it_was_measured_is_measured_again() -> None:
    (page,) = sealed("one")
    assert record_score(page.pk, page.sealed_at, Score(words=Count(1, 2)))
    row = Snapshot.objects.get(pk=page.pk)
    row.transition("reopen")
    assert Snapshot.objects.get(pk=page.pk).measured_at is None
    assert not record_score(page.pk, page.sealed_at, Score(words=Count(2, 2)))
    arrange(Snapshot.objects.filter(pk=page.pk), status="sealed", sealed_at=timezone.now() + timedelta(seconds=1))
    assert not record_score(page.pk, page.sealed_at, Score(words=Count(2, 2)))
    assert Snapshot.objects.get(pk=page.pk).quality == 50


@pytest.mark.parametrize(
    ("percent", "estimate", "missing", "lossy"),
    [(100, 100, 0, False), (100, 100, 1, True), (40, 100, 0, True), (40, 30, 0, False), (None, 30, 0, False)],
)
def test_pages_that_lack_files_or_replay_poorly_are_worth_recapturing(
    percent: int | None, estimate: int, missing: int, lossy: bool
) -> None:
    (page,) = sealed("one")
    estimated(page, estimate, missing)
    assert is_lossy(page.pk, percent) is lossy
    record_score(page.pk, page.sealed_at, Score(words=None if percent is None else Count(percent, 100)))
    assert Snapshot.objects.lossy().exists() is lossy


@pytest.mark.parametrize(
    ("words", "tiles", "percent"),
    [(Count(999, 1000), Count(5, 5), 99), (Count(5, 5), Count(1, 3), 33), (None, None, None), (Count(3, 3), None, 100)],
)
def test_a_score_is_the_lower_one_rounded_down(words: Count | None, tiles: Count | None, percent: int | None) -> None:
    assert Score(words, tiles).percent == percent


@pytest.mark.parametrize(("with_scripts", "lossy"), [(97, False), (50, True)])
def test_a_page_that_its_scripts_show_is_not_worth_capturing_again(with_scripts: int, lossy: bool) -> None:
    (page,) = sealed("one")
    estimated(page, 100)
    record_score(page.pk, page.sealed_at, Score(Count(1, 100), scripted=Score(Count(with_scripts, 100))))
    row = Snapshot.objects.get(pk=page.pk)
    assert (row.quality, row.quality_with_scripts, bool(row.is_lossy)) == (1, with_scripts, lossy)
