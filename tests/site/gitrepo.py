"""Owns the git repository that the local web serves over dumb http (gitprotocol-http(5))."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

FILES = (
    ("README.md", "# The Local Repository\n"),
    ("hello.py", 'print("hello")\n'),
    ("README.md", "# Local\n\nTwice.\n"),
)
"""Each is one commit; the dates are fixed, so the hashes are the same on every run."""
FIRST_COMMIT = 1_700_000_000


def make_repository(folder: Path) -> Path | None:
    """Make `folder/repo.git`, bare, branch main, three commits; return `folder`, or None where git is not installed."""
    git = shutil.which("git")
    if git is None:
        return None
    repository = folder / "repo.git"
    _run(git, "init", "--quiet", "--bare", "--initial-branch=main", str(repository))
    _run(git, "-C", str(repository), "fast-import", "--quiet", given=_commits())
    _run(git, "-C", str(repository), "update-server-info")
    return folder


def _commits() -> bytes:
    """The three commits in the language of git-fast-import(1)."""
    lines = []
    for number, (name, text) in enumerate(FILES):
        message = f"Commit {number + 1}: {name}\n"
        lines += [
            "commit refs/heads/main",
            f"committer Local Web <web@example.org> {FIRST_COMMIT + number * 3600} +0000",
            f"data {len(message)}\n{message}",
            f"M 100644 inline {name}",
            f"data {len(text)}\n{text}",
        ]
    return "\n".join([*lines, ""]).encode()


def _run(*command: str, given: bytes = b"") -> None:
    """Run git apart from the settings and variables of whoever runs the tests."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    alone = kept | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(command, input=given, env=alone, check=True, capture_output=True)
