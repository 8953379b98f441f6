"""Owns what each kind of job does to a part of its Snapshots."""

from collections.abc import Sequence
from uuid import UUID

from archivebox.base_models.visibility import Visibility
from archivebox.config.settings import DATA_FOLDER
from archivebox.core.crawl_control.retry import retry_failed
from archivebox.core.crawl_control.set_visibility import show
from archivebox.core.evidence.verification import (
    DigestCache,
    list_signature,
    problems_of,
    sign_unsigned,
    with_listed_files,
)
from archivebox.core.intake.add_urls import add_seeds
from archivebox.core.intake.parse_input import ParsedInput
from archivebox.core.intake.recapture import add_versions, recapture
from archivebox.core.intake.request import CrawlRequest, Requester, Seed
from archivebox.core.intake.submit import accept
from archivebox.core.page_storage.folder import drop_note
from archivebox.core.page_storage.uploading import disown
from archivebox.core.snapshot import Snapshot, SnapshotQuerySet
from archivebox.core.tag import Tag
from archivebox.core.tags.assign_tags import tag, untag
from archivebox.core.versions.url_versions import RESTORABLE, RETIRED, mark_for_purge, restore, retire
from archivebox.crawls.crawl import Crawl
from archivebox.export.formats import FORMATS
from archivebox.export.pages import pages_of
from archivebox.hooks import plugins
from archivebox.jobs.action import DeferredError, Failures, FallibleAction, JobAction, Options, texts
from archivebox.jobs.comparing import MeasureCaptures, MeasureChosen
from archivebox.jobs.importing import Imported
from archivebox.jobs.inspecting import InspectSource
from archivebox.jobs.models import Job
from archivebox.jobs.page_imports import ImportPages
from archivebox.jobs.permission import scope_of_job
from archivebox.lib.files import remove_tree
from archivebox.lib.jsonl import JSON
from archivebox.replay.models import forget_views_of
from archivebox.search.backend import forget, learn
from archivebox.storage.shared_files import remove_page


class _Tagging(JobAction):
    @classmethod
    def check(cls, options: Options) -> dict[str, JSON]:
        names = texts(options, "tags")
        if not names or not all(map(Tag.slug_of, names)):
            raise ValueError("Name one tag or more; each has a letter or digit.")
        return {"tags": list(names)}


class AddTags(_Tagging):
    """Puts tags on."""

    def write_rows(self, rows: SnapshotQuerySet, keys: Sequence[UUID]) -> None:
        del rows
        tag(keys, self.job.options["tags"])


class RemoveTags(_Tagging):
    """Removes tags."""

    def write_rows(self, rows: SnapshotQuerySet, keys: Sequence[UUID]) -> None:
        del rows
        untag(keys, self.job.options["tags"])


class RetryFailed(JobAction):
    """Runs again what failed, of some plugins or for some reason alone where options say so."""

    @classmethod
    def check(cls, options: Options) -> dict[str, JSON]:
        return {"plugins": _plugins(options), "reason": str(options.get("reason") or "")}

    def write_rows(self, rows: SnapshotQuerySet, keys: Sequence[UUID]) -> None:
        del keys
        retry_failed(rows, self.job.options["plugins"], self.job.options["reason"])


class CaptureAgain(JobAction):
    """Makes a new version of each, in one crawl for all of the job."""

    @classmethod
    def check(cls, options: Options) -> dict[str, JSON]:
        return {"plugins": _plugins(options), "more_time": bool(options.get("more_time"))}

    def write_rows(self, rows: SnapshotQuerySet, keys: Sequence[UUID]) -> None:
        del keys
        crawl = Crawl.objects.filter(pk=self.job.memory.get("crawl")).first()
        may_name_private, more_time = scope_of_job(self.job).is_whole, self.job.options["more_time"]
        if crawl is not None:
            add_versions(crawl, rows, may_name_private=may_name_private, more_time=more_time)
            return
        crawl = recapture(
            rows,
            created_by=self.job.created_by,
            may_name_private=may_name_private,
            plugins=self.job.options["plugins"],
            label="Captured again",
            more_time=more_time,
        )
        self.job.memory["crawl"] = str(crawl.pk)


class ChangeVisibility(JobAction):
    """Lets others see them, or fewer."""

    why_not = "Who sees it is changed by its owner and by administrators; or it is not there any more."

    @classmethod
    def check(cls, options: Options) -> dict[str, JSON]:
        if options.get("visibility") not in Visibility.values:
            raise ValueError(f"Choose who sees them: {', '.join(Visibility.values)}.")
        return {"visibility": options["visibility"]}

    def among(self) -> SnapshotQuerySet:
        scope = scope_of_job(self.job)
        return super().among() if scope.is_whole else super().among().filter(created_by=scope.account)

    def write_rows(self, rows: SnapshotQuerySet, keys: Sequence[UUID]) -> None:
        del keys
        show(rows, Visibility(self.job.options["visibility"]))


class Remove(JobAction):
    """Takes them out of every list and out of the search; their files stay until retention."""

    def prepare(self, keys: Sequence[UUID]) -> None:
        forget(list(self.among().filter(pk__in=keys).only("output_dir")))

    def write_rows(self, rows: SnapshotQuerySet, keys: Sequence[UUID]) -> None:
        del keys
        retire(rows)


class RestoreSnapshots(JobAction):
    """Undoes a removal."""

    @classmethod
    def rows(cls) -> SnapshotQuerySet:
        rows: SnapshotQuerySet = Snapshot.objects.filter(RESTORABLE)
        return rows

    def prepare(self, keys: Sequence[UUID]) -> None:
        learn(list(self.among().filter(pk__in=keys).only("output_dir")))

    def write_rows(self, rows: SnapshotQuerySet, keys: Sequence[UUID]) -> None:
        del keys
        restore(rows)


class Purge(JobAction):
    """Deletes files and rows of what was removed and is not to be brought back any more.

    First nobody can bring it back, then its files go, then its row: what is cut short is found, and done, by the next.
    """

    batch = 10

    @classmethod
    def rows(cls) -> SnapshotQuerySet:
        rows: SnapshotQuerySet = Snapshot.objects.filter(RETIRED)
        return rows

    def prepare(self, keys: Sequence[UUID]) -> None:
        mark_for_purge(self.among().filter(pk__in=keys))
        for snapshot in self.among().filter(pk__in=keys).only("output_dir"):
            if snapshot.output_dir and snapshot.path.is_dir():
                remove_page(snapshot.path)
            drop_note(snapshot.pk)
        forget_views_of(keys)
        if DATA_FOLDER.rewritten.is_dir():  # some of it is of these pages, and all of it is made again
            remove_tree(DATA_FOLDER.rewritten)

    def write_rows(self, rows: SnapshotQuerySet, keys: Sequence[UUID]) -> None:
        disown(keys)
        rows.delete()


class Verify(FallibleAction):
    """Compares files with the hashes that were made of them, and these with their signature."""

    batch = 10

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self._digests = DigestCache()

    def prepare(self, keys: Sequence[UUID]) -> None:
        self._found = problems_of(with_listed_files(self.among().filter(pk__in=keys)), self._digests)


class SignHashes(FallibleAction):
    """Signs the hashes of pages that were kept without a signature, where their files are as they were hashed."""

    batch = 10
    why_not = "It is not there any more, or at work: then it is signed at its end."

    @classmethod
    def rows(cls) -> SnapshotQuerySet:
        return super().rows().filter(status=Snapshot.StatusChoices.SEALED)

    def prepare(self, keys: Sequence[UUID]) -> None:
        pages = with_listed_files(self.among().filter(pk__in=keys))
        self._found = {page.pk: problem for page in pages if (problem := sign_unsigned(page))}

    def write_rows(self, rows: SnapshotQuerySet, keys: Sequence[UUID]) -> None:
        """The signature is among the files that the hashes' result names."""
        del keys
        for page in rows.only("output_dir"):
            if page.pk not in self._found:
                list_signature(page)


class Export(JobAction):
    """Writes them into one file, which lies in exports/ when it is whole."""

    batch = 10

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self._format = FORMATS[job.options["format"]]
        self._whole = DATA_FOLDER.exports / f"{job.pk}{self._format.suffix}"
        self._path = self._whole.with_suffix(".part")
        self._writer = self._format.writer(self._path)
        self._found: Failures = {}
        self._has_written = False

    @classmethod
    def check(cls, options: Options) -> dict[str, JSON]:
        if options.get("format") not in FORMATS:
            raise ValueError(f"Choose a format: {', '.join(FORMATS)}.")
        return {"format": options["format"]}

    def begin_or_resume(self) -> bool:
        DATA_FOLDER.exports.mkdir(mode=0o700, exist_ok=True)
        if not self._writer.files.lock():
            raise DeferredError
        lengths = self.job.memory.get("lengths")
        return (
            self._whole.exists()
            or not self.job.position
            or (bool(lengths) and self._writer.files.have_lengths(lengths))
        )

    def prepare(self, keys: Sequence[UUID]) -> None:
        self._writer.files.truncate_to(self.job.memory.get("lengths", {}))
        pages = pages_of(self.among().filter(pk__in=keys), scope_of_job(self.job))
        self._found, self._has_written = self._writer.add(pages)

    def write(self, keys: Sequence[UUID]) -> Failures:
        self.job.memory["lengths"] = self._writer.files.lengths
        self.job.memory["has_pages"] = self._has_written or self.job.memory.get("has_pages", False)
        return super().write(keys) | self._found

    def finish(self) -> None:
        """There is no file where none of the pages had anything for it."""
        if not self.job.memory.get("has_pages"):
            self._writer.files.remove()
            return
        if not self._whole.exists():
            self._writer.files.truncate_to(self.job.memory["lengths"])
            self._writer.finish()
            self._path.replace(self._whole)
        self.job.memory["file"] = self._whole.name

    def close(self) -> None:
        self._writer.close()


class AddLinks(JobAction):
    """Adds the URLs of an import, in one crawl; each key of a part stands for a line."""

    batch = 1_000

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self._seeds: list[Seed] = []
        self._offset = 0

    @classmethod
    def check(cls, options: Options) -> dict[str, JSON]:
        del options
        raise ValueError("An import begins with a file: give it on the Import page, or to `archivebox add --file`.")

    def prepare(self, keys: Sequence[UUID]) -> None:
        self._seeds, self._offset = Imported(self.job.pk).read_chosen(self.job.memory["offset"], len(keys))

    def write(self, keys: Sequence[UUID]) -> Failures:
        """Nothing is added any more to a crawl that was stopped."""
        del keys
        self.job.memory["offset"] = self._offset
        crawl = Crawl.objects.filter(pk=self.job.memory.get("crawl")).first()
        may_name_private = scope_of_job(self.job).is_whole
        if crawl is None:
            label, options = f"Import of {self.job.memory['name']}", self.job.options
            request = CrawlRequest.of_template(options, label=label, visibility=options["visibility"])
            requester = Requester(self.job.created_by, may_name_private=may_name_private)
            crawl = accept(request, requester, ParsedInput.of_seeds(self._seeds)).made
            self.job.memory["crawl"] = str(crawl.pk)
        elif crawl.status != Crawl.StatusChoices.CANCELLED:
            add_seeds(crawl, self._seeds, may_name_private=may_name_private)
        return {}


def _plugins(options: Options) -> list[JSON]:
    names = texts(options, "plugins")
    for name in names:
        if name not in plugins():
            raise ValueError(f"There is no plugin {name!r}.")
    return list(names)


ACTIONS: dict[str, type[JobAction]] = {
    Job.Kind.TAG: AddTags,
    Job.Kind.UNTAG: RemoveTags,
    Job.Kind.RETRY: RetryFailed,
    Job.Kind.RECAPTURE: CaptureAgain,
    Job.Kind.REMOVE: Remove,
    Job.Kind.RESTORE: RestoreSnapshots,
    Job.Kind.EXPORT: Export,
    Job.Kind.VERIFY: Verify,
    Job.Kind.SIGN: SignHashes,
    Job.Kind.COMPARE: MeasureChosen,
    Job.Kind.MEASURE: MeasureCaptures,
    Job.Kind.VISIBILITY: ChangeVisibility,
    Job.Kind.PURGE: Purge,
    Job.Kind.IMPORT: AddLinks,
    Job.Kind.IMPORT_PAGES: ImportPages,
    Job.Kind.INSPECT: InspectSource,
}
