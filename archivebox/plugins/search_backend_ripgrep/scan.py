"""Looks for words in the text files of every Snapshot at the moment of the question."""

from __future__ import annotations

import json
import os
import re
import subprocess
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING

from archivebox.plugins.base import Settings, find_program
from archivebox.plugins.base.searching import Hit, UnavailableError
from archivebox.plugins.base.segments import UNSPACED

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from archivebox.plugins.base.texts import Text

SNAPSHOTS = "users/*/snapshots/*/*/*"  # user, day and site; in the data folder
NOTHING_FOUND = 1  # ripgrep's status; 2 is an error
_UNSPACED = re.compile(f"[{UNSPACED}]")


class Scan:
    """One run of ripgrep a word; a text is found by all of them. It knows letters as they are written: é is not e."""

    def index(self, _snapshot: str, _folder: Path, texts: Iterable[Text]) -> int:
        return len(list(texts))

    def remove(self, snapshot: str, folder: Path) -> None:
        """Nothing is kept."""

    def flush(self) -> None:
        """Nothing is kept."""

    def query(self, words: list[str], limit: int) -> list[Hit]:
        patterns = [pattern for word in words if (pattern := as_pattern(word))]
        if not patterns:
            return []
        files = set.intersection(*map(_files_with, patterns))
        return sorted(map(_hit, files), reverse=True)[:limit]  # a key begins with its time: the newest first


def as_pattern(word: str) -> str:
    r"""Return a word or phrase as a regular expression; '' where nothing of it is a word."""
    parts = "".join(char if _is_letter(char) else " " for char in word).split()
    if not parts:
        return ""
    start = "" if _UNSPACED.match(parts[0][0]) else r"\b"
    end = "" if word.endswith("*") or _UNSPACED.match(parts[-1][-1]) else r"\b"
    return start + r"\W+".join(parts) + end


def _is_letter(char: str) -> bool:
    r"""Marks are part of their words, as ripgrep's own \w has it (UTS 18, annex C)."""
    return char.isalnum() or unicodedata.category(char).startswith("M")


def _files_with(pattern: str) -> set[str]:
    settings = Settings()
    options = [*settings.list("SEARCH_BACKEND_RIPGREP_ARGS"), *settings.list("SEARCH_BACKEND_RIPGREP_ARGS_EXTRA")]
    program = find_program(settings.str("SEARCH_BACKEND_RIPGREP_BINARY"))
    command = [program, "--no-config", "--no-ignore", "--multiline", "--files-with-matches", "--null", *options]
    return _run([*command, *_globs(), f"--regexp={pattern}", "users"], settings.timeout("SEARCH_BACKEND_RIPGREP"))


def _globs() -> list[str]:
    declared = json.loads(os.environ.get("SEARCH_TEXTS") or "[]")
    return [f"--glob=/{SNAPSHOTS}/{plugin}/**/{pattern}" for plugin, pattern in declared]


def _run(command: Sequence[str], timeout: float) -> set[str]:
    try:
        done = subprocess.run(
            command,
            cwd=os.environ["DATA_DIR"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise UnavailableError(
            f"ripgrep took longer than {timeout:g} seconds: raise SEARCH_BACKEND_RIPGREP_TIMEOUT, or search an index "
            "with SEARCH_BACKEND_ENGINE=sqlite"
        ) from None
    if done.returncode > NOTHING_FOUND and not done.stdout:
        raise UnavailableError(f"ripgrep: {done.stderr.decode('utf-8', 'replace').strip()[-300:]}")
    return {os.fsdecode(name) for name in done.stdout.split(b"\0") if name}


def _hit(name: str) -> Hit:
    _users, _user, _snapshots, _day, _site, snapshot, plugin, file = name.split("/", 7)
    return Hit(snapshot, plugin, file)
