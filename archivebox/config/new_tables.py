"""Owns making the tables of a collection in another database than this process's own.

A program, since Django's migrations change the default database of their process: ``python -m``, with ``DATA_DIR`` and
``DATABASE_URL`` of the other one.
"""

import os
import subprocess
import sys
from pathlib import Path

from archivebox.config.collection import open_collection
from archivebox.storage.layout import DataFolder

PROGRAM = "archivebox.config.new_tables"
APPLICATION = Path(__file__).parents[2]


class TablesNotMadeError(Exception):
    """The tables could not be made; the message is the last line of why."""


def make_tables(folder: DataFolder, url: str) -> None:
    """Make them in the database that ``url`` names, or in a file in ``folder``; what is there stays."""
    folder.create()
    env = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    env |= {"DATA_DIR": str(folder.root), "DJANGO_SETTINGS_MODULE": "archivebox.web.settings", "MIGRATION_BACKUPS": "0"}
    env |= {"PYTHONPATH": str(APPLICATION), **({"DATABASE_URL": url} if url else {})}
    done = subprocess.run([sys.executable, "-m", PROGRAM], env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise TablesNotMadeError((done.stderr.strip().splitlines() or ["It ended without a message"])[-1])


def main() -> None:
    from django import setup  # what asks for its settings

    setup()
    open_collection(create=True, is_move=True)


if __name__ == "__main__":
    main()
