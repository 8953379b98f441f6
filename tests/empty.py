"""Owns the empty collection that others begin with: migrated once a test process, because that takes 2 s of CPU."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

CHECKOUT = Path(__file__).parents[1]
MAKE = """
import django
django.setup()
from archivebox.config.collection import open_collection
open_collection(create=True)
"""


def make_empty(folder: Path) -> None:
    """Have an empty collection in ``folder``; on a server whoever opens it first makes the tables."""
    if os.environ.get("DATABASE_URL"):
        folder.mkdir(parents=True)
    else:
        shutil.copytree(_migrated(), folder)


@cache
def _migrated() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="archivebox-empty-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    env = {**os.environ, "DATA_DIR": str(folder), "DJANGO_SETTINGS_MODULE": "archivebox.config.settings"}
    subprocess.run([sys.executable, "-c", MAKE], cwd=CHECKOUT, env=env, check=True)
    return folder
