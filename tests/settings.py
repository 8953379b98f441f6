"""Owns Django's settings under test: those of pages, on a data folder that ends with the test run.

They are read before any conftest, and several modules keep the data folder from their import on: so it is chosen here.
"""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

ROOT = Path(tempfile.mkdtemp(prefix="archivebox-tests-")).resolve()
OWNER = os.getpid()


def _remove() -> None:
    if os.getpid() == OWNER:  # a fork must not take the folder from its parent
        shutil.rmtree(ROOT, ignore_errors=True)


atexit.register(_remove)
_given = os.environ.get("DATA_DIR")
os.environ["DATA_DIR"] = str(ROOT)

from archivebox.config.settings import DATA_FOLDER, DATABASES  # noqa: E402 - the folder has to be chosen first

DATA_FOLDER.create()

from archivebox.web.settings import *  # noqa: E402, F403 - the key that pages are signed with is made in it

PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.MD5PasswordHasher",  # Django's own take 0.2 s of CPU by intent
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",  # of imported accounts
]

if os.environ.get("DATABASE_URL"):
    DATABASES["default"]["ENGINE"] = "tests.engines.postgresql"
else:
    # A file, not memory: threads and other processes open it too.
    DATABASES["default"]["ENGINE"] = "tests.engines.sqlite3"
    DATABASES["default"]["TEST"] = {"NAME": str(DATA_FOLDER.database)}

# Programs that tests start choose their own folder and settings.
if _given is None:
    del os.environ["DATA_DIR"]
else:
    os.environ["DATA_DIR"] = _given
os.environ["DJANGO_SETTINGS_MODULE"] = "archivebox.config.settings"
