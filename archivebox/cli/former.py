"""Owns the words that users of earlier ArchiveBoxes type: which of ours they stand for, or what to use instead."""

from collections.abc import Sequence

SAME = {
    ("setup",): ("install",),
    ("config", "--get"): ("config", "get"),
    ("config", "--set"): ("config", "set"),
    ("config", "--reset"): ("config", "unset"),
    ("config", "--search"): ("config", "list", "--all"),
}
"""Words at the beginning of a command → ours, which take the rest of it as it is."""

INSTEAD = {
    "archive": "`archivebox add URL` archives a page, `archivebox update` tries again what failed.",
    "archiveresult": "`archivebox snapshot show URL` shows what each hook made of a page.",
    "extract": "`archivebox run --snapshot ID` runs one snapshot, `archivebox update URL` what is missing.",
    "oneshot": "`archivebox --data-dir FOLDER add URL` keeps a page in a collection of its own.",
    "pluginmap": "`archivebox plugin list` shows the plugins.",
    "shell": "`archivebox manage shell` opens a Python prompt with the models.",
    "tag": "`archivebox add --tag NAMES` puts tags on pages, `archivebox list --tag NAME` finds them.",
}
"""Commands that are not here → what to use."""


def translated(words: Sequence[str]) -> list[str]:
    """What was typed, in the words of this version."""
    for former, ours in SAME.items():
        if tuple(words[: len(former)]) == former:
            return [*ours, *words[len(former) :]]
    return list(words)
