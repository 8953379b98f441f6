"""Owns comparing the files of a page with the hashes that were made of them when it was archived."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from uuid import UUID

from archivebox.core.snapshot import Snapshot

HASHES = "hashes/hashes.json"
"""What the plugin that hashes leaves: {"files": {name: {"sha256": …, "size": …}}}."""
NO_HASHES = "There is nothing to compare with: no hashes were made of its files."
SHOWN = 3
"""Files that a sentence names."""


def problems_of(snapshots: Iterable[Snapshot]) -> dict[UUID, str]:
    """Snapshot → what is missing or changed; nothing for one whose files are as they were."""
    found = {snapshot.pk: _problem_of(snapshot.path) for snapshot in snapshots}
    return {key: problem for key, problem in found.items() if problem}


def _problem_of(folder: Path) -> str:
    hashes = _hashes(folder)
    if hashes is None:
        return NO_HASHES
    problems = [f"{name} {problem}" for name, sha256 in hashes.items() if (problem := _problem(folder / name, sha256))]
    more = f", and {len(problems) - SHOWN} more" if len(problems) > SHOWN else ""
    return f"{'; '.join(problems[:SHOWN])}{more}." if problems else ""


def _problem(path: Path, sha256: str) -> str:
    try:
        with path.open("rb") as file:
            return "" if hashlib.file_digest(file, "sha256").hexdigest() == sha256 else "was changed"
    except FileNotFoundError:
        return "is missing"
    except OSError as error:
        return f"cannot be read ({error.strerror})"


def _hashes(folder: Path) -> Mapping[str, str] | None:
    """File → SHA-256; None where they were not made, or cannot be read."""
    try:
        return {name: about["sha256"] for name, about in json.loads((folder / HASHES).read_text())["files"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
