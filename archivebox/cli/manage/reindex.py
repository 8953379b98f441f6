"""Owns `archivebox manage reindex`: the search index made anew from the files."""

from collections.abc import Iterator

from archivebox.cli.errors import BadInputError
from archivebox.cli.manage.parser import Parser
from archivebox.cli.output import counted
from archivebox.cli.select import snapshots
from archivebox.cli.session import Session
from archivebox.search.backend import SearchUnavailableError, chosen_backend
from archivebox.search.reindexing import ReindexProgress, rebuild, reindex

TEXT = (
    "Rebuild the search index from the files of all snapshots. If it is interrupted, repeat the command: it continues."
)


def run(session: Session, args: tuple[str, ...]) -> int:
    parser = Parser("reindex", TEXT)
    parser.add_argument("--only", nargs="+", default=[], metavar="URL|ID", help="only these snapshots")
    if {"-h", "--help"} & set(args):
        session.out.text(parser.format_help())
        return 0
    only = tuple(parser.parse_args(args).only)
    try:
        return _reindex(session, only)
    except SearchUnavailableError as problem:
        raise BadInputError(str(problem)) from None


def _reindex(session: Session, only: tuple[str, ...]) -> int:
    backend = chosen_backend()
    if backend is None:
        raise BadInputError("No search engine is chosen: set SEARCH_BACKEND_ENGINE, such as to auto.")
    steps = reindex(backend, snapshots(which=only)) if only else rebuild(backend)
    last = _show(session, steps)
    sentence = f"{counted(last.done, 'snapshot')} indexed, {counted(last.texts, 'text')}."
    session.out.event(
        {"type": "Reindex", "snapshots": last.done, "texts": last.texts, "engine": backend.engine}, sentence
    )
    return 0


def _show(session: Session, steps: Iterator[ReindexProgress]) -> ReindexProgress:
    last = ReindexProgress(0)
    with session.out.live() as draw:
        for last in steps:
            draw([f"{last.done:,} of {counted(last.total, 'snapshot')}"])
    return last
