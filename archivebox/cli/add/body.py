"""Owns `archivebox add`."""

import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

from archivebox.cli import personas, settings
from archivebox.cli.add.sources import RefusalReport, Sources, kept_source, refused_as_bad_input
from archivebox.cli.errors import BadInputError
from archivebox.cli.former_settings import without_effect
from archivebox.cli.handover import CALLER
from archivebox.cli.output import counted
from archivebox.cli.records import record_of
from archivebox.cli.session import Session
from archivebox.cli.stdin import STDIN
from archivebox.cli.watching import Watched, watch
from archivebox.config.personas import Persona
from archivebox.config.resolve import Layer, Resolved
from archivebox.core.intake.parse_input import parse, require_urls
from archivebox.core.intake.request import OPERATOR, CrawlRequest, DuplicatePolicy
from archivebox.core.intake.submit import Submitted, accept
from archivebox.core.tag import split_tags
from archivebox.hooks import plugins as all_plugins
from archivebox.hooks import resolve_settings
from archivebox.lib.jsonl import JSON
from archivebox.lib.links.formats import ListFormat
from archivebox.workers.queue.readiness_check import orchestrator_is_running


def refuse_early(params: Mapping[str, object]) -> None:
    pairs = params.get("config")
    if isinstance(pairs, tuple):
        settings.refuse_secrets(pairs, "Set it with `archivebox config set NAME`, which asks for it.")


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
    persona = personas.find(session, persona).name if persona else ""
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


def _who_runs_it() -> str:
    if orchestrator_is_running():
        return "Queued. An orchestrator is running for this collection and starts it now."
    return "Queued. Nothing is running here. Start `archivebox run` or `archivebox server`."
