"""Owns `archivebox add`."""

import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.users import system_user
from archivebox.base_models.visibility import EVERYTHING
from archivebox.cli import personas, settings
from archivebox.cli.add.kept import kept_source
from archivebox.cli.add.sources import Given, Reader
from archivebox.cli.errors import BadInputError
from archivebox.cli.handover import CALLER
from archivebox.cli.output import counted
from archivebox.cli.records import record_of
from archivebox.cli.session import Session
from archivebox.cli.watching import Watched, watch
from archivebox.config.resolve import Layer, Resolved
from archivebox.core.crawl_control.retry import retry_missing
from archivebox.core.intake.add_urls import Seed, create_crawl
from archivebox.core.intake.batches import AddingEndedError, is_long
from archivebox.core.models import Snapshot
from archivebox.core.tag import split_tags
from archivebox.core.versions.url_versions import latest_versions, retire_older
from archivebox.crawls.models import Crawl
from archivebox.hooks import plugins as all_plugins
from archivebox.hooks import resolve_settings
from archivebox.lib.jsonl import JSON
from archivebox.lib.links.formats import ListFormat
from archivebox.workers.supervise.watch import orchestrator_is_running


class AddOptions(NamedTuple):
    """How the URLs are to be archived."""

    depth: int
    tags: list[str]
    config: dict[str, JSON]
    label: str
    update: bool
    overwrite: bool
    index_only: bool
    persona: str


def refuse_early(params: Mapping[str, object]) -> None:
    pairs = params["config"]
    if isinstance(pairs, tuple):
        settings.refuse_secrets(pairs, "Set it with `archivebox config set NAME`, which asks for it.")


def run(
    session: Session,
    *,
    urls: tuple[str, ...],
    file: tuple[str, ...],
    depth: int | None,
    tag: tuple[str, ...],
    plugins: str | None,
    parser: str,
    bg: bool,
    update: bool,
    overwrite: bool,
    if_changed: bool,
    index_only: bool,
    label: str,
    persona: str | None,
    config: tuple[str, ...],
    **limits: object,
) -> int:
    """Check everything, write all of it or nothing, then wait for it unless told not to.

    ``limits`` are settings of the crawl that have an option of their own.
    """
    if update and overwrite:
        raise BadInputError("--update keeps the versions that are there, --overwrite retires them: choose one.")
    tags = [name for text in tag for name in split_tags(text)]
    given_limits = (f"{name.upper()}={value}" for name, value in limits.items() if value is not None)
    own = config_of((*config, *given_limits), plugins) | unless_changed(if_changed)
    who = personas.find(session, persona) if persona else None
    layers = [*settings.current_layers(is_collection=session.process is not None), Layer("crawl", own)]
    layers += [who.layer()] if who else []
    resolved = resolve_settings(layers)
    resolved.check()
    depth = resolved.get_int("MAX_DEPTH") if depth is None else depth
    options = AddOptions(depth, tags, own, label[:255], update, overwrite, index_only, persona or "")
    with ExitStack() as stack:
        given = _read(Reader(session.out, resolved, ListFormat(parser), stack), urls, file)
        session.open(create=True)
        crawl, others = _accept(session, given, options)
    _tell_of_plugins(session, resolved, depth)
    crawl_ids = others | ({crawl.pk} if crawl else set())
    watched = Watched(crawl_ids)
    if index_only:
        session.out.say(f"Saved. `archivebox crawl resume {crawl.pk if crawl else ''}` runs it.")
        return 0
    if bg:
        session.out.say(_who_runs_it())
        return 0
    if not crawl_ids:
        return 0
    CALLER.tell_accepted(crawl_ids=sorted(map(str, crawl_ids)), began=watched.began.isoformat())
    return watch(session, watched)


def _tell_of_plugins(session: Session, resolved: Resolved, depth: int) -> None:
    """What in the plugins that are to run could not be understood, or is missing among them, and so costs results."""
    chosen = [plugin for plugin in all_plugins().values() if resolved.is_enabled(plugin)]
    for plugin in chosen:
        for warning in plugin.warnings:
            session.out.warn(f"The plugin {plugin.name}: {warning}.")
    if depth and not any(plugin.may_keep({"links"}) for plugin in chosen):
        session.out.warn("No link will be followed: none of these plugins finds any. parse_dom_outlinks does.")


def config_of(pairs: tuple[str, ...], plugins: str | None) -> dict[str, JSON]:
    """The settings of the crawl, as options said them."""
    config = {spec.name: value for spec, value in map(settings.parse_pair, pairs)}
    names = settings.plugin_names(plugins)
    if names:
        config["PLUGINS"] = list(names)
    return config


def unless_changed(chosen: bool) -> dict[str, JSON]:
    """The setting of a crawl that keeps what has changed alone."""
    return {"KEEP_UNCHANGED": False} if chosen else {}


def _read(reader: Reader, urls: tuple[str, ...], files: tuple[str, ...]) -> Given:
    """All that was given; BadInputError, and nothing has happened, if an argument is wrong or nothing is valid."""
    if not (urls or files) and sys.stdin.isatty():
        raise BadInputError("Give URLs, --file FILE, or - to type them here. `archivebox add --help` shows how.")
    from_stdin = "-" in urls or not (urls or files)
    named = [text for text in urls if "://" not in text and Path(text).is_file()]
    reader.take_arguments(tuple(text for text in urls if text != "-" and text not in named))
    for name in (*files, *named):
        reader.take_file(name)
    if from_stdin:
        reader.take_stdin()
    given = reader.given
    if not given.seeds:
        what = f"Nothing in {counted(given.refused, 'line')}" if given.refused else "Nothing given"
        raise BadInputError(f"{what} is a URL that can be archived. Give URLs such as https://example.com/.")
    if given.refused:
        reader.out.say(f"Taken: {counted(len(given.seeds), 'URL')}; not taken: {counted(given.refused, 'line')}.")
    return given


def _accept(session: Session, given: Given, options: AddOptions) -> tuple[Crawl | None, set[UUID]]:
    """Write it down. Returns the new Crawl, if any URL is new, and the Crawls of those that are only updated."""
    known = latest_versions(given.seeds, EVERYTHING) if options.update else {}
    fresh = [seed for seed in given.seeds.values() if seed.url not in known]
    with ExitStack() as stack:
        source = stack.enter_context(kept_source(session.folder, given.kept)) if fresh else ""
        if not is_long(len(given.seeds)):
            stack.enter_context(write_transaction())
        crawl = _create(fresh, source, options) if fresh else None
        retired = retire_older(crawl) if crawl is not None and options.overwrite else 0
        others = _update_known(list(known.values()), options) if known else set()
    if crawl is not None:
        record = record_of(crawl, snapshots=len(fresh), refused=given.refused, retired=retired)
        record["urls"] = "\n".join(seed.url for seed in fresh[:10])  # its row has them all
        session.out.event(record, f"Accepted {counted(len(fresh), 'URL')} as crawl {crawl.pk}.")
    if known:
        session.out.say(f"{counted(len(known), 'URL')} of these had been archived; only what is missing is run.")
    return crawl, others


def _create(seeds: Sequence[Seed], source: str, options: AddOptions) -> Crawl:
    try:
        return create_crawl(
            seeds,
            created_by=system_user(),
            max_depth=options.depth,
            tags=options.tags,
            config=options.config,
            label=options.label,
            source=source,
            persona=options.persona,
            hold=options.index_only,
        )
    except AddingEndedError as error:
        raise BadInputError(str(error)) from None


def _update_known(keys: list[UUID], options: AddOptions) -> set[UUID]:
    crawl_ids: set[UUID] = set()
    for start in range(0, len(keys), 500):
        rows = Snapshot.objects.filter(pk__in=keys[start : start + 500])
        if not options.index_only:
            retry_missing(rows)
        crawl_ids |= set(rows.values_list("crawl_id", flat=True))
    return set() if options.index_only else crawl_ids


def _who_runs_it() -> str:
    if orchestrator_is_running():
        return "Queued. An orchestrator is running for this collection and starts it now."
    return "Queued. Nothing is running here. Start `archivebox run` or `archivebox server`."
