"""Owns imports: a list that somebody gave is read, and waits as a job until it is said what to do with it."""

from dataclasses import replace

from archivebox.base_models.rows import new_id
from archivebox.base_models.transactions import write_transaction
from archivebox.core.intake.parse_input import find_versions, parse
from archivebox.core.intake.request import MAX_URLS_OF_IMPORT, CrawlRequest, Requester, RequestRefusedError
from archivebox.crawls import control
from archivebox.jobs.begin import Noting, without_record
from archivebox.jobs.imported import Imported
from archivebox.jobs.job import Job, JobPart, packed
from archivebox.jobs.kinds import actions
from archivebox.jobs.permission import limits
from archivebox.lib.batches import batches


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
