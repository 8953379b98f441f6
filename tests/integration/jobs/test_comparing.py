"""How much the replay of a page looks like the picture that was kept of it."""

from __future__ import annotations

from uuid import UUID

import pytest
from PIL import Image

from archivebox.base_models.users import system_user
from archivebox.core.models import ArchiveResult, Snapshot
from archivebox.core.quality import UNMEASURED
from archivebox.jobs.begin import JobRequest, begin
from archivebox.jobs.models import JobFailure
from tests import factories
from tests.carrying_out import carried_out
from tests.site.pictures import TEAL, png
from tests.webserver.recording import Page, record

pytestmark = [pytest.mark.usefixtures("collection"), pytest.mark.browser]
ORANGE = "#e76f51"
HTML = (
    "<!doctype html><link rel='stylesheet' href='/s.css'><body><img src='//files.example/half.png'>"
    "<script>document.body.style.background = 'red'</script>"
)
CSS = f"body {{ margin: 0; background: {ORANGE} }} img {{ display: block }}"


def page(snapshot: Snapshot, *lacking: str) -> None:
    """A page of two halves, its picture, and what its hook has measured; what is lacking was not recorded."""
    picture = "https://files.example/half.png"
    files = {
        snapshot.url: Page(HTML.encode()),
        f"{snapshot.url}s.css": Page(CSS.encode(), "text/css"),
        picture: Page(png(400, 150, TEAL), "image/png"),
    }
    record(snapshot.path, {url: answer for url, answer in files.items() if not url.endswith(lacking)})
    kept = Image.new("RGB", (400, 300), ORANGE)
    kept.paste(TEAL, (0, 0, 400, 150))
    (snapshot.path / "screenshot").mkdir()
    kept.save(snapshot.path / "screenshot" / "screenshot.png")
    measures = [{"name": "text", "percent": 90, "sentence": "Nearly."}, {"name": "picture", "percent": None}]
    ArchiveResult.objects.create(
        snapshot=snapshot, plugin="quality", status="succeeded", output_json={"measures": measures}
    )


def measured(key: UUID) -> tuple[int | None, list[tuple[str, int]]]:
    """The quality of a page, and what it is made from."""
    said = ArchiveResult.objects.get(snapshot_id=key, plugin="quality").output_json
    assert said
    return Snapshot.objects.get(pk=key).quality, [(one["name"], one["percent"]) for one in said["measures"]]


def test_a_replay_is_compared_with_the_picture_and_counts_into_quality() -> None:
    urls = [f"https://{name}.example/" for name in ("same", "half", "unmeasured", "unpictured", "unrecorded")]
    Snapshot.objects.filter(crawl=factories.crawl(*urls)).update(status="sealed", retry_at=None)
    same, half, unmeasured, unpictured, unrecorded = rows = list(Snapshot.objects.order_by("id"))
    page(same, "none")
    page(half, "half.png")
    page(unmeasured, "none")
    ArchiveResult.objects.filter(snapshot=unmeasured).delete()
    page(unpictured, "none")
    (unpictured.path / "screenshot" / "screenshot.png").unlink()
    page(unrecorded, ".example/")
    job = carried_out(begin(JobRequest("compare", created_by=system_user(), snapshots=[row.pk for row in rows])))
    assert (job.done, job.failed) == (2, 3)
    assert measured(same.pk) == (90, [("text", 90), ("picture", 100)])
    assert measured(half.pk) == (50, [("text", 90), ("picture", 50)])
    assert dict(JobFailure.objects.filter(job=job).values_list("snapshot_id", "sentence")) == {
        unmeasured.pk: UNMEASURED,
        unpictured.pk: "No picture was kept of it.",
        unrecorded.pk: "It was not recorded, so that it has no replay.",
    }
