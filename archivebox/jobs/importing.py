"""Owns imports: a list that somebody gave is read, and waits as a job until it is said what to do with it."""

import csv
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from pathlib import Path
from uuid import UUID

from archivebox.base_models.rows import new_id
from archivebox.base_models.transactions import write_transaction
from archivebox.config.settings import DATA_FOLDER
from archivebox.core.intake.parse_input import ParsedInput, find_versions, parse
from archivebox.core.intake.request import (
    MAX_URLS_OF_IMPORT,
    CrawlRequest,
    Refusal,
    Requester,
    RequestRefusedError,
    Seed,
)
from archivebox.crawls import control
from archivebox.jobs.action import actions
from archivebox.jobs.begin import Noting, without_record
from archivebox.jobs.models import Job, JobPart, packed
from archivebox.jobs.permission import limits
from archivebox.lib.batches import batches
from archivebox.lib.csv_lines import csv_line
from archivebox.lib.links.link import Link


def accept_list(request: CrawlRequest, requester: Requester, name: str, noting: Noting = without_record) -> Job:
    """Read lists, and keep what is in them; nothing is added. RequestRefusedError where there is nothing."""
    requester = replace(requester, max_urls=MAX_URLS_OF_IMPORT)
    found = parse(request, requester)
    if not found.seeds and not found.refusals:
        raise RequestRefusedError(f"{name} has no URL in it.")
    find_versions(found, requester.viewer_scope)
    told = {"name": name, "fresh": len(found.fresh), "known": len(found.known), "refused": found.refused,
            "repeated": found.repeated, **limits(requester.viewer_scope)}  # fmt: skip
    job = Job(kind=Job.Kind.IMPORT, status=Job.StatusChoices.PAUSED, retry_at=None, total=0, memory=told,
              created_by=requester.user)  # fmt: skip
    Imported(job.pk).write(found)
    with write_transaction():
        job.save(force_insert=True)
        noting(job)
    return job


def is_waiting(job: Job) -> bool:
    """Whether it has not been said yet what to do with it."""
    return job.kind == Job.Kind.IMPORT and job.status == Job.StatusChoices.PAUSED and "offset" not in job.memory


def start(job: Job, request: CrawlRequest, noting: Noting = without_record) -> bool:
    """Have workers add what is chosen, as one crawl; False where nothing is, or it was begun already."""
    count = Imported(job.pk).choose(request)
    with write_transaction():
        Job.objects.filter(pk=job.pk).lock()
        job.refresh_from_db()
        if not count or not is_waiting(job):
            return False
        lines = (new_id() for _ in range(count))
        JobPart.objects.bulk_create(
            JobPart(job=job, number=number, keys_packed=packed(batch))
            for number, batch in enumerate(batches(lines, actions()[Job.Kind.IMPORT].batch))
        )
        job.options = {**request.template(), "visibility": request.visibility}
        job.total, job.memory = count, {**job.memory, "offset": 0}
        job.save(update_fields=["options", "total", "memory"])
        noting(job)
    return control.resume(job)


def forget(job: Job) -> None:
    """Discard an import that was not begun."""
    if is_waiting(job):
        Imported(job.pk).delete()
        job.delete()


@dataclass(frozen=True, slots=True)
class Imported:
    """The files of one import, in imports/ of the data folder."""

    key: UUID

    @property
    def found(self) -> Path:
        """URL, title, tags, when it was archived last (empty: never), its date: a JSON array a line."""
        return DATA_FOLDER.imports / f"{self.key}.found.jsonl"

    @property
    def chosen(self) -> Path:
        """Those of them that are added."""
        return DATA_FOLDER.imports / f"{self.key}.chosen.jsonl"

    @property
    def refused(self) -> Path:
        """Lines without a URL that can be archived: line, text, why."""
        return DATA_FOLDER.imports / f"{self.key}.refused.csv"

    def write(self, found: ParsedInput) -> None:
        DATA_FOLDER.imports.mkdir(mode=0o700, exist_ok=True)
        with self.found.open("w", encoding="utf-8") as file:
            file.writelines(_line(seed, "") for seed in found.fresh)
            file.writelines(_line(known.seed, known.at.isoformat()) for known in found.known)
        with self.refused.open("w", encoding="utf-8", newline="") as file:
            file.write(csv_line(("line", "text", "why")))
            file.writelines(map(_refusal, found.refusals))

    def choose(self, request: CrawlRequest) -> int:
        """Decide which are added. Returns how many."""
        count = 0
        with self.found.open(encoding="utf-8") as found, self.chosen.open("w", encoding="utf-8") as chosen:
            for line in found:
                archived = json.loads(line)[3]
                if request.duplicates.captures(datetime.fromisoformat(archived) if archived else None, request.days):
                    chosen.write(line)
                    count += 1
        return count

    def read_chosen(self, offset: int, most: int) -> tuple[list[Seed], int]:
        """The seeds from this byte on, and the byte at which the next one begins."""
        with self.chosen.open("rb") as file:
            file.seek(offset)
            lines = list(islice(file, most))
        return [_seed(line) for line in lines], offset + sum(map(len, lines))

    def first_found(self, most: int) -> list[Seed]:
        with self.found.open("rb") as file:
            return [_seed(line) for line in islice(file, most)]

    def first_refusals(self, most: int) -> list[dict[str, str]]:
        with self.refused.open(encoding="utf-8", newline="") as file:
            return list(islice(csv.DictReader(file), most))

    def delete(self) -> None:
        for path in (self.found, self.chosen, self.refused):
            path.unlink(missing_ok=True)


def older_than(moment: datetime) -> Iterator[Path]:
    """Files of imports that nobody has touched since then."""
    if DATA_FOLDER.imports.is_dir():
        files = (one for one in DATA_FOLDER.imports.iterdir() if one.is_file())
        yield from (one for one in files if one.stat().st_mtime < moment.timestamp())


def _line(seed: Seed, archived: str) -> str:
    date = "" if seed.bookmarked_at is None else seed.bookmarked_at.isoformat()
    columns: Iterable[object] = (seed.url, seed.title, seed.tags, archived, date)
    return json.dumps(list(columns), ensure_ascii=False) + "\n"


def _seed(line: bytes) -> Seed:
    url, title, tags, _, date = json.loads(line)
    return Seed.of_link(Link(0, url, title, tuple(tags), date=date))


def _refusal(refusal: Refusal) -> str:
    return csv_line((str(refusal.line or ""), refusal.text, refusal.sentence))
