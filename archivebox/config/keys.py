"""Owns the secrets that a server makes for itself: its signing key, and links that log in once."""

import hashlib
import json
import os
import secrets
import time
from contextlib import suppress
from pathlib import Path

from archivebox.lib.files import atomic_write, locked
from archivebox.storage.layout import DataFolder

LINK_LIFETIME = 3600.0
"""Seconds that a log-in link can be used: long enough to walk over to a browser."""


def secret_key(folder: DataFolder) -> str:
    """The key that sessions and addresses of archived pages are signed with, made on first use, readable by us alone.

    FileNotFoundError where there is no collection yet.
    """
    path = folder.secret_key
    with suppress(FileNotFoundError):
        return path.read_text().strip()
    with locked(folder.init_lock):
        if not path.exists():
            atomic_write(path, secrets.token_urlsafe(48) + "\n", 0o600, durable=True)
    return path.read_text().strip()


def make_login_token(folder: DataFolder, user_id: int, lifetime: float = LINK_LIFETIME) -> str:
    """A secret that logs ``user_id`` in once within ``lifetime`` seconds; on disk is only its hash.

    Files, not rows: they work before the web's own tables exist, and unlink(2) decides who used one.
    """
    folder.login_links.mkdir(mode=0o700, parents=True, exist_ok=True)
    _forget_expired(folder.login_links)
    token = secrets.token_urlsafe(32)
    content = json.dumps({"user": user_id, "expires": time.time() + lifetime})
    atomic_write(_file(folder, token), content, 0o600, durable=True)
    return token


def peek_login_link(folder: DataFolder, token: str) -> int | None:
    """Whom ``token`` would log in; None if it is unknown, used or expired."""
    return _valid_user(_file(folder, token))


def redeem_login_link(folder: DataFolder, token: str) -> int | None:
    """Use ``token`` up and say whom it logs in; of two who try at once only one gets an answer."""
    path = _file(folder, token)
    user_id = _valid_user(path)
    try:
        path.unlink()
    except FileNotFoundError:
        return None
    return user_id


def _file(folder: DataFolder, token: str) -> Path:
    return folder.login_links / hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def _valid_user(path: Path) -> int | None:
    try:
        content = json.loads(path.read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return None
    return int(content["user"]) if content["expires"] > time.time() else None


def _forget_expired(links: Path) -> None:
    for entry in os.scandir(links):
        path = Path(entry.path)
        if _valid_user(path) is None:
            path.unlink(missing_ok=True)
