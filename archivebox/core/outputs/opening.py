"""Owns what of a page opens first: its replay, or what shows more of it. Pages, links, shares and exports ask here."""

from collections.abc import Iterable
from dataclasses import dataclass

from archivebox.contract.formats import File, Format, FormatKind, formats_of, kind_of
from archivebox.core.archiveresult import ArchiveResult
from archivebox.core.outputs.replay_quality import ESTIMATE, LEAST_GOOD, measures_of, percents_of
from archivebox.core.snapshot import Snapshot
from archivebox.hooks import outputs_of

LEAST_FIRST = 98
"""Percent that a replay has to show so that nothing else is opened before it; what was not measured counts as this."""
PAGES = frozenset({"", "text/html", "application/xhtml+xml"})
"""Media types of URLs whose replay is worth a look: of a picture or a PDF its file is."""
REPLAY = Format("replay", FormatKind.REPLAY, "Replay", "", "succeeded", (File("", 0, "text/html"),))
_SCRIPTED = Format("scripts", FormatKind.REPLAY, "Replay", "", "succeeded")


@dataclass(frozen=True, slots=True)
class Opening:
    """``format``: None where nothing was kept that can be opened. ``why`` it is not the plain replay, as a sentence."""

    format: Format | None
    why: str = ""
    runs_scripts: bool = False

    @property
    def copy(self) -> Format | None:
        """What is shown in place of a replay."""
        return self.format if self.why and not self.runs_scripts else None


def kept_formats(results: Iterable[ArchiveResult]) -> list[Format]:
    """Those that people look at, best first."""
    return [one for one in formats_of(results, outputs_of) if one.file and not one.is_aside]


def opening_of(
    snapshot: Snapshot, results: Iterable[ArchiveResult], *, has_replay: bool, scripts: bool = False
) -> Opening:
    """What opens first, by what was measured of each format, else by an estimate of the replay.

    ``has_replay``: whether whoever asks can show one; ``scripts``: whether with the page's scripts, if it needs them.
    """
    results = list(results)
    kept = kept_formats(results)
    if snapshot.mime_type not in PAGES:
        return Opening(_own_file(snapshot.mime_type, kept))
    percents = percents_of(snapshot)
    why = _why_not_replay(percents.get(REPLAY.key), results) if has_replay else "Nothing was recorded for a replay."
    if not why:
        return Opening(REPLAY)
    copies = [one for one in kept if one.kind is FormatKind.PAGE]
    candidates = [*([REPLAY] if has_replay else []), *([_SCRIPTED] if has_replay and scripts else []), *copies]
    shares = {one.key: percents.get(one.key, 0 if one is REPLAY else LEAST_FIRST) for one in candidates}
    best = max(candidates, key=lambda one: shares[one.key], default=None)  # of equals the first
    if best is None or shares[best.key] < LEAST_GOOD:
        best = next((one for one in kept if one.kind is FormatKind.PICTURE), best)
    if best is REPLAY or best is None:
        return Opening(best or next(iter(kept), None))
    return Opening(REPLAY, why, runs_scripts=True) if best is _SCRIPTED else Opening(best, why)


def _own_file(mime_type: str, kept: list[Format]) -> Format | None:
    """Of a URL that is no page: its file, else what is of its kind, as the text of JSON is."""
    kind = kind_of(mime_type)
    of_kind = [one for one in kept if one.kind is kind]
    same = (one for one in of_kind if one.file and one.file.mimetype == mime_type)
    return next(same, None) or next(iter(of_kind or kept), None)


def _why_not_replay(percent: int | None, results: Iterable[ArchiveResult]) -> str:
    """Why something else may show more than the replay without scripts; empty where, by all that is known, it does not.

    Until the replay is measured its words are known, of a page that has any: those that the server sent.
    """
    if percent is not None:
        return f"Without its scripts, the replay shows {percent} % of this page." if percent < LEAST_FIRST else ""
    said = [one.output_json for one in results if isinstance(one.output_json, dict)]
    estimates = [one.get("percent") for each in said for one in measures_of(each) if one.get("name") == ESTIMATE]
    estimate = next((one for one in estimates if isinstance(one, int)), None)
    if estimate is not None and estimate < LEAST_GOOD:
        return f"This page is built by scripts: {estimate} % of its words were in what the server sent."
    if any(one.get("built_by_scripts") is True for one in said):
        return "This page is built by scripts."
    is_known = estimate is not None or not estimates
    return "" if is_known else "It is not known yet how much of this page is seen without its scripts."
