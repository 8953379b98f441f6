"""Owns whether a page says what its last version says: by the words that people read in it, or by its bytes."""

import os
from pathlib import Path

from django.utils import timezone

from archivebox.base_models.visibility import Visibility
from archivebox.contract.presentation import CONTENT, OutputPattern, Role, ranked
from archivebox.core.snapshot import Snapshot
from archivebox.core.unchanged_check import UnchangedCheck
from archivebox.hooks import plugins
from archivebox.lib import jsonl
from archivebox.lib.files import walk_outputs


def version_before(snapshot: Snapshot) -> Snapshot | None:
    """The last version of its URL that was kept before it, where both came to the same address, status and type.

    Of those that are there for the same people: nobody's new version is retired for one that they do not see.
    """
    rows = Snapshot.objects.kept().of_url(snapshot.url).filter(visibility=snapshot.visibility)
    if snapshot.visibility == Visibility.PRIVATE:
        rows = rows.filter(created_by=snapshot.created_by_id)
    former: Snapshot | None = rows.filter(pk__lt=snapshot.pk, status="sealed").first()
    return former if former is not None and former.facts == snapshot.facts else None


def says_the_same(former: Path, latest: Path) -> bool:
    """Whether the folders of two versions hold the same words; where there are none, the same bytes.

    What cannot be compared has changed: nothing is retired on a guess.
    """
    for plugin, output in _declared("text"):
        texts = [_words(folder / plugin, output) for folder in (former, latest)]
        if all(texts):
            return texts[0] == texts[1] and _stems(former / plugin) == _stems(latest / plugin)
    digests = [_digest(folder) for folder in (former, latest)]
    return bool(digests[0]) and digests[0] == digests[1]


def linkable_plugins() -> set[str]:
    """The plugins that say that they leave what is of the page itself: an unchanged version has the same."""
    return {name for name, plugin in plugins().items() if any(output.role in CONTENT for output in plugin.outputs)}


def _declared(role: Role) -> list[tuple[str, OutputPattern]]:
    """The plugins that say that they leave such files, the best first."""
    return ranked({name: plugin.outputs for name, plugin in plugins().items() if plugin.outputs}, role)


def retire_unchanged(snapshot: Snapshot, former: Snapshot) -> None:
    """Keep of this version only that it was looked at. Its files are the caller's to delete, after the transaction."""
    Snapshot.objects.filter(pk=snapshot.pk).update(retired_at=timezone.now(), retry_at=None)
    UnchangedCheck.objects.create(snapshot=former, crawl_id=snapshot.crawl_id, instead=snapshot.pk)


def _words(folder: Path, output: OutputPattern) -> list[str]:
    """Of the texts that a plugin left, one after the other."""
    texts = (folder / name for name in sorted(_names(folder)) if output.matches(name))
    return [word for text in texts for word in text.read_text("utf-8", "replace").split()]


def _names(folder: Path) -> set[str]:
    return {file.path for file in walk_outputs(folder)}


def _stems(folder: Path) -> set[str]:
    """Its files without their endings: pictures of an article are named after their bytes, and packed as may be."""
    return {os.path.splitext(name)[0] for name in _names(folder)}  # noqa: PTH122 - of names, not of paths


def _digest(folder: Path) -> str:
    """Of the body that the URL led to in the end."""
    logs = (folder / plugin / output.file for plugin, output in _declared("responses"))
    lines = (line for log in logs if log.is_file() for line in log.read_bytes().splitlines())
    digests = [about.get("sha256") for line in lines if (about := jsonl.loads(line)) is not None and about.get("main")]
    return str((digests and digests[-1]) or "")
