"""Looks for words in the text files of every Snapshot at the moment of the question."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING

from archivebox.plugins.base import Settings
from archivebox.plugins.base.searching import UNSPACED, Hit, UnavailableError, answer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from archivebox.plugins.base.searching import Text

SNAPSHOTS = "users/*/snapshots/*/*/*"  # user, day and site; in the data folder
NOTHING_FOUND = 1  # ripgrep's status; 2 is an error
_UNSPACED = re.compile(f"[{UNSPACED}]")


class Scan:
    """One run of ripgrep a word; a text is found by all of them. It knows letters as they are written: é is not e."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self._environ = environ
        self._settings = Settings(environ, os.path.dirname(__file__))
        self._time = self._settings.timeout("SEARCH_BACKEND_RIPGREP")
        self._deadline = time.monotonic() + self._time

    def index(self, _snapshot: str, _folder: Path, texts: Iterable[Text]) -> int:
        return len(list(texts))

    def remove(self, snapshot: str, folder: Path) -> None:
        """Nothing is kept."""

    def flush(self) -> None:
        """Nothing is kept."""

    def close(self) -> None:
        """Nothing is open."""

    def query(self, words: list[str], limit: int) -> list[Hit]:
        patterns = [pattern for word in words if (pattern := as_pattern(word))]
        if not patterns:
            return []
        files = set.intersection(*map(self._files_with, patterns))
        return sorted(map(_hit, files), reverse=True)[:limit]  # a key begins with its time: the newest first

    def _files_with(self, pattern: str) -> set[str]:
        settings, name = self._settings, "SEARCH_BACKEND_RIPGREP_ARGS"
        wanted = settings.str("SEARCH_BACKEND_RIPGREP_BINARY")
        program = shutil.which(wanted, path=self._environ.get("PATH"))
        if program is None:
            raise UnavailableError(f"The program {wanted!r} is not installed. Install it with: archivebox install")
        command = [program, "--no-config", "--no-ignore", "--multiline", "--files-with-matches", "--null"]
        options = [*settings.list(name), *settings.list(f"{name}_EXTRA"), *self._globs()]
        return self._run([*command, *options, f"--regexp={pattern}", "users"])

    def _globs(self) -> list[str]:
        declared = json.loads(self._environ.get("SEARCH_TEXTS") or "[]")
        return [f"--glob=/{SNAPSHOTS}/{plugin}/**/{pattern}" for plugin, pattern in declared]

    def _run(self, command: Sequence[str]) -> set[str]:
        try:
            done = subprocess.run(
                command,
                cwd=self._environ["DATA_DIR"],
                env=self._environ,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=max(0.0, self._deadline - time.monotonic()),
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise UnavailableError(
                f"ripgrep took longer than {self._time:g} seconds: raise SEARCH_BACKEND_RIPGREP_TIMEOUT, or search an "
                "index with SEARCH_BACKEND_ENGINE=sqlite"
            ) from None
        if done.returncode > NOTHING_FOUND and not done.stdout:
            raise UnavailableError(f"ripgrep: {done.stderr.decode('utf-8', 'replace').strip()[-300:]}")
        return {os.fsdecode(name) for name in done.stdout.split(b"\0") if name}


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


def _hit(name: str) -> Hit:
    _users, _user, _snapshots, _day, _site, snapshot, plugin, file = name.split("/", 7)
    return Hit(snapshot, plugin, file)


ENGINE = Scan

if __name__ == "__main__":
    answer(Scan())
