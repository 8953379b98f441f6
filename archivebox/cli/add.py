"""Carries out `archivebox add`, and what `crawl create` and `snapshot create` share with it."""

import fcntl
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast
from uuid import UUID

from archivebox.base_models.keylist import key_list
from archivebox.cli import settings
from archivebox.cli.errors import BadInputError
from archivebox.cli.former import without_effect
from archivebox.cli.handover import CALLER
from archivebox.cli.listing import record_of
from archivebox.cli.output import Output, counted
from archivebox.cli.persona import find_persona
from archivebox.cli.selection import STDIN, StdinRecord, tell_or_pass
from archivebox.cli.session import Session
from archivebox.cli.watching import Watched, watch
from archivebox.config.personas import Persona
from archivebox.config.resolve import Layer, Resolved
from archivebox.contract.records import MAX_LINE, parse_line
from archivebox.core.intake.batches import AddingEndedError
from archivebox.core.intake.parse_input import parse, require_urls
from archivebox.core.intake.request import (
    OPERATOR,
    CrawlRequest,
    DuplicatePolicy,
    Refusal,
    RequestRefusedError,
    UrlList,
)
from archivebox.core.intake.submit import Submitted, accept
from archivebox.core.tag import split_tags
from archivebox.crawls.models import Crawl
from archivebox.hooks import plugins as all_plugins
from archivebox.hooks import resolve_settings
from archivebox.lib.files import locked
from archivebox.lib.jsonl import JSON
from archivebox.lib.links.formats import ListFormat
from archivebox.storage.layout import DataFolder
from archivebox.workers.queue.readiness_check import orchestrator_is_running

REPORTED = 50
"""Refusals shown on a terminal; a pipe gets every one."""


class Sources:
    """Everything that was given to one `add`; its files are closed with the stack."""

    def __init__(self, stack: ExitStack) -> None:
        self.lists: list[UrlList] = []
        self.kept: list[BinaryIO] = []
        """Open files to keep, with arguments and stdin among them as temporary ones that have no name."""
        self._stack = stack

    def keep_arguments(self, urls: tuple[str, ...]) -> None:
        if urls:
            self._keep(io.BytesIO("".join(f"{url}\n" for url in urls).encode()))

    def open_file(self, name: str) -> None:
        """BadInputError where it cannot be read."""
        path = Path(name)
        if "://" in name:
            raise BadInputError(f"--file expects a file, not {name}. To archive that page, leave out --file.")
        try:
            file = self._stack.enter_context(path.open("rb"))
        except OSError as error:
            raise BadInputError(f"{name} cannot be read: {error.strerror}.") from None
        if not path.is_file():
            raise BadInputError(f"{name} is not a file that can be read twice; give it on stdin: add - < {name}")
        self.lists.append(UrlList(file, name))
        self.kept.append(file)

    def open_lines(self, lines: Iterable[bytes], name: str) -> None:
        """A list that is made up of these; one without any is none."""
        copy = cast("BinaryIO", tempfile.TemporaryFile())  # noqa: SIM115 - closed with the stack
        self._stack.enter_context(copy)
        copy.writelines(lines)
        if copy.tell():
            copy.seek(0)
            self.lists.append(UrlList(copy, name))
            self.kept.append(copy)

    def open_stdin(self) -> None:
        """Standard input is spooled to disk first: what was given is kept, and is read from there."""
        self.lists.append(UrlList(self._keep(sys.stdin.buffer), "stdin"))

    def _keep(self, file: BinaryIO) -> BinaryIO:
        copy = cast("BinaryIO", tempfile.TemporaryFile())  # noqa: SIM115 - closed with the stack
        self._stack.enter_context(copy)
        shutil.copyfileobj(file, copy, 1 << 20)
        copy.seek(0)
        self.kept.append(copy)
        return copy


class RefusalReport:
    """Reports every line that is refused; a terminal gets the first 50 of them."""

    def __init__(self, out: Output) -> None:
        self._out = out
        self._count = 0

    def __call__(self, refusal: Refusal, name: str) -> None:
        self._count += 1
        if self._out.is_for_people and self._count > REPORTED:
            return
        record = {
            "type": "Refusal",
            "source": name,
            "line": refusal.line,
            "text": refusal.text,
            "code": refusal.code,
            "error": refusal.sentence,
        }
        place = "" if not name else f"{name}, line {refusal.line}: " if refusal.line else f"{name}: "
        self._out.event(record, place + refusal.sentence)


@contextmanager
def refused_as_bad_input() -> Iterator[None]:
    """A request that the intake refuses is what was typed wrong."""
    try:
        yield
    except (RequestRefusedError, AddingEndedError) as error:
        raise BadInputError(str(error)) from None


@contextmanager
def kept_source(folder: DataFolder, given: Sequence[BinaryIO]) -> Iterator[str]:
    """Copy what was given, as one file; yields the place in the collection that the crawl is to name.

    It comes there when the crawl has been committed, and is removed where no crawl names it. A command that is killed
    before or after that leaves a copy behind which the next one finishes or removes, by what the rows say; its lock
    says that it is still wanted.
    """
    moment = datetime.now(tz=UTC).strftime("%Y%m%d-%H%M%S-%f")
    part = folder.incoming / f"{moment}.{os.getpid()}.txt"
    folder.make_folder(folder.incoming, 0o700)
    with locked(folder.incoming):
        _settle_abandoned(folder)
        whole = part.open("xb")
        fcntl.flock(whole, fcntl.LOCK_EX)
    with whole:
        for file in given:
            file.seek(0)
            shutil.copyfileobj(file, whole, 1 << 20)
        whole.flush()
        target = folder.sources / part.name
        yield folder.relative(target)
        _settle(part, folder)


def _settle_abandoned(folder: DataFolder) -> None:
    """Copies whose command was killed: those that a crawl names are put into place, the others go."""
    for part in folder.incoming.iterdir():
        with locked(part, blocking=False) as free:
            if free is not None:
                _settle(part, folder)


def _settle(part: Path, folder: DataFolder) -> None:
    target = folder.sources / part.name
    if Crawl.objects.filter(source=folder.relative(target)).exists():
        part.replace(target)
    else:
        part.unlink()


@dataclass(slots=True)
class PipedInput:
    """URLs that were typed or come from stdin; records on it that are none are printed as they came."""

    out: Output
    urls: tuple[str, ...]
    crawls: list[UUID] = field(default_factory=list)
    """Those on stdin that are here already."""

    def open(self, sources: Sources, request: CrawlRequest) -> CrawlRequest:
        """BadInputError where nothing was given at a terminal."""
        given = tuple(text for text in self.urls if text != STDIN)
        sources.keep_arguments(given)
        if STDIN in self.urls or not given:
            if sys.stdin is None or sys.stdin.isatty():
                raise BadInputError("Give URLs, or lines or records on stdin. --help shows how.")
            sources.open_lines(self._lines(), "stdin")
        return replace(request, urls=given, lists=sources.lists)

    def _lines(self) -> Iterator[bytes]:
        """Lines of a list of URLs; what belongs to none has been printed."""
        number = 0
        while line := sys.stdin.buffer.readline(MAX_LINE + 1):
            number += 1
            found = parse_line(line)
            record = None if found is None else StdinRecord(number, found.type, found.fields)
            if record is None or (record.type == "Snapshot" and record.fields.get("url")):
                yield line if line.endswith(b"\n") else line + b"\n"
            elif record.type == "Crawl" and record.key is None:
                yield "".join(f"{url}\n" for url in record.urls).encode()
            else:
                self._pass(record)

    def _pass(self, record: StdinRecord) -> None:
        if record.type == "Snapshot" and record.key is None:
            raise record.refusal("this Snapshot has neither an id nor a url")
        if record.type == "Crawl" and record.key is not None:
            if not Crawl.objects.filter(pk__in=key_list([record.key])).exists():
                raise record.refusal(f"there is no crawl {record.key}")
            self.crawls.append(record.key)
        tell_or_pass(self.out, [record], passes=True)


class Accepted(NamedTuple):
    """What was given, and is written now."""

    submitted: Submitted
    request: CrawlRequest
    settings: Resolved


OpenSources = Callable[[Sources, CrawlRequest], CrawlRequest]
"""Puts what was given into the request; keeps what has to be kept among the sources."""


def run(
    session: Session, *, urls: tuple[str, ...], file: tuple[str, ...], bg: bool, index_only: bool, **options: Any
) -> int:
    """Check everything, write all of it or nothing, then wait for it unless told not to."""
    accepted = accept_given(session, partial(_with_sources, urls, file), hold=index_only, **options)
    assert accepted is not None  # noqa: S101 - nothing is refused
    crawl_ids = tell_accepted(session, accepted.submitted)
    for name, instead in without_effect(name for _, name in accepted.settings.unknown):
        session.out.warn(f"{name} has no effect: {instead}.")
    _tell_of_plugins(session, accepted.settings, accepted.request.depth)
    if index_only:
        key = accepted.submitted.crawl.pk if accepted.submitted.crawl else ""
        session.out.say(f"Saved. `archivebox crawl resume {key}` runs it.")
        return 0
    if bg:
        session.out.say(_who_runs_it())
        return 0
    if not crawl_ids:
        return 0
    watched = Watched(crawl_ids)
    CALLER.tell_accepted(crawl_ids=sorted(map(str, crawl_ids)), began=watched.began.isoformat())
    return watch(session, watched)


def accept_given(
    session: Session,
    open_sources: OpenSources,
    *,
    hold: bool,
    depth: int | None,
    tag: tuple[str, ...],
    plugins: str | None,
    parser: str,
    update: bool,
    only_new: bool,
    overwrite: bool,
    if_changed: bool,
    label: str,
    persona: str | None,
    config: tuple[str, ...],
    may_be_empty: bool = False,
    **limits: Any,
) -> Accepted | None:
    """Check everything, and write all of it or nothing. None: ``may_be_empty``, and nothing was given.

    ``limits`` are settings of the crawl that have an option of their own.
    """
    policy = chosen_policy(update=update, only_new=only_new, overwrite=overwrite, if_changed=if_changed)
    persona = find_persona(session, persona).name if persona else ""
    request = CrawlRequest(
        tags=tags_of(tag), plugins=names_of(plugins), config=config_of(config), label=label, persona=persona,
        duplicates=policy, list_format=ListFormat(parser), hold=hold,
        **{name: value for name, value in limits.items() if value is not None},
    )  # fmt: skip
    resolved = resolve_settings(_layers(session, request))
    resolved.check()
    request = replace(request, depth=resolved.get_int("MAX_DEPTH") if depth is None else depth)
    with ExitStack() as stack, refused_as_bad_input():
        sources = Sources(stack)
        request = open_sources(sources, request)
        if may_be_empty and not (request.urls or request.lists):
            return None
        parsed = parse(request, OPERATOR, resolved, RefusalReport(session.out))
        require_urls(parsed)
        if parsed.refused:
            session.out.say(
                f"Accepted: {counted(len(parsed.seeds), 'URL')}; skipped: {counted(parsed.refused, 'line')}."
            )
        session.open(create=True)
        source = stack.enter_context(kept_source(session.folder, sources.kept))
        submitted = accept(request, OPERATOR, parsed, source=source)
    return Accepted(submitted, request, resolved)


def _layers(session: Session, request: CrawlRequest) -> list[Layer]:
    """The settings of the crawl; there may be no collection yet."""
    base = settings.current_layers(is_collection=session.process is not None)
    persona = [Persona(session.folder.persona(request.persona)).layer()] if request.persona else []
    return [*base, *persona, Layer("crawl", request.settings)]


def _tell_of_plugins(session: Session, resolved: Resolved, depth: int) -> None:
    """What in the plugins that are to run could not be understood, or is missing among them, and so costs results."""
    chosen = [plugin for plugin in all_plugins().values() if resolved.is_enabled(plugin)]
    for plugin in chosen:
        for warning in plugin.warnings:
            session.out.warn(f"The plugin {plugin.name}: {warning}.")
    if depth and not any(plugin.source != "bundled" or plugin.may_keep({"links"}) for plugin in chosen):
        session.out.warn("No link will be followed: none of these plugins finds any. parse_dom_outlinks does.")


def config_of(pairs: tuple[str, ...]) -> dict[str, JSON]:
    """The settings of the crawl that have no option of their own."""
    return {spec.name: value for spec, value in map(settings.parse_pair, pairs)}


def names_of(text: str | None) -> list[str]:
    """``"a,b"`` → names of plugins."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def tags_of(texts: tuple[str, ...]) -> list[str]:
    return [name for text in texts for name in split_tags(text)]


def chosen_policy(
    *, update: bool = False, only_new: bool = False, overwrite: bool = False, if_changed: bool
) -> DuplicatePolicy:
    if overwrite and (update or only_new):
        given = "--update" if update else "--only-new"
        raise BadInputError(f"{given} keeps the versions that are there, --overwrite replaces them: choose one.")
    chosen = {
        DuplicatePolicy.UPDATE: update,
        DuplicatePolicy.SKIP: only_new,
        DuplicatePolicy.REPLACE: overwrite,
        DuplicatePolicy.IF_CHANGED: if_changed,
    }
    return next((policy for policy, is_chosen in chosen.items() if is_chosen), DuplicatePolicy.CAPTURE)


def _with_sources(
    urls: tuple[str, ...], files: tuple[str, ...], sources: Sources, request: CrawlRequest
) -> CrawlRequest:
    """The request with all that was given; BadInputError where a file cannot be read."""
    if not (urls or files) and sys.stdin.isatty():
        raise BadInputError("Give URLs, --file FILE, or - to type them here. `archivebox add --help` shows how.")
    named = [text for text in urls if "://" not in text and Path(text).is_file()]
    arguments = tuple(text for text in urls if text not in {STDIN, *named})
    sources.keep_arguments(arguments)
    for name in (*files, *named):
        sources.open_file(name)
    if STDIN in urls or not (urls or files):
        sources.open_stdin()
    return replace(request, urls=arguments, lists=sources.lists)


def tell_accepted(session: Session, submitted: Submitted) -> set[UUID]:
    """Returns the crawls to wait for."""
    crawl, count, known = submitted.crawl, len(submitted.seeds), len(submitted.parsed.known)
    if crawl is not None:
        record = record_of(crawl, snapshots=count, refused=submitted.parsed.refused)
        record["urls"] = "\n".join(seed.url for seed in submitted.seeds[:10])  # its row has them all
        session.out.event(record, f"Accepted {counted(count, 'URL')} as crawl {crawl.pk}.")
    if known:
        what = "only what is missing is run" if submitted.updated else "nothing is done for them"
        if crawl is not None and crawl.replaces:
            what = "these versions are removed once the new ones are archived"
        session.out.say(f"{counted(known, 'URL')} of these had been archived; {what}.")
    return submitted.updated | ({crawl.pk} if crawl else set())


NOTHING_RUNS = "Nothing is running here. Start `archivebox run` or `archivebox server`."


def _who_runs_it() -> str:
    if orchestrator_is_running():
        return "Queued. An orchestrator is running for this collection and starts it now."
    return f"Queued. {NOTHING_RUNS}"


def go_on(session: Session, *, crawl_ids: list[str], began: str) -> int:
    """Wait for these crawls as who has accepted them did; ``began``: when that was."""
    return watch(session, Watched(map(UUID, crawl_ids), began=datetime.fromisoformat(began)))
