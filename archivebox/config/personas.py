"""Owns personas: who a crawl is to the sites that it visits, each a folder in ``personas/``."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from archivebox.config.conffile import read_conf, write_conf
from archivebox.config.resolve import Layer
from archivebox.lib.files import atomic_write
from archivebox.lib.jsonl import JSON

NETSCAPE_FIELDS = 7
"""Of a line of cookies.txt: domain, subdomains, path, secure, expiry, name, value."""


@dataclass(frozen=True, slots=True)
class Persona:
    """One folder: settings, cookies, and the browser's profile. All of it is its owner's alone."""

    folder: Path

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def conf(self) -> Path:
        return self.folder / "persona.conf"

    @property
    def cookies(self) -> Path:
        """What ``COOKIES_FILE`` is for its crawls, unless it says otherwise."""
        return self.folder / "cookies.txt"

    @property
    def profile(self) -> Path:
        """Where a browser may be started to log in; crawls work on copies of it."""
        return self.folder / "profile"

    @property
    def users_file(self) -> Path:
        return self.folder / "users.txt"

    @property
    def users(self) -> list[str]:
        """The accounts that it is shared with: only their crawls, and administrators', visit pages as this persona."""
        try:
            return self.users_file.read_text().split()
        except FileNotFoundError:
            return []

    def share(self, users: Iterable[str]) -> None:
        """Share it with these accounts, and with no others any more."""
        atomic_write(self.users_file, "".join(f"{name}\n" for name in sorted(users)), 0o600)

    @property
    def exists(self) -> bool:
        return self.folder.is_dir()

    @property
    def setting_names(self) -> list[str]:
        """Of its settings the names alone, since some are secrets."""
        return sorted(read_conf(self.conf))

    @property
    def has_profile(self) -> bool:
        """Whether a browser was ever started with its profile."""
        return self.profile.is_dir() and any(self.profile.iterdir())

    def create(self, settings: Mapping[str, str]) -> None:
        """Make the folder, with these settings. FileExistsError if there is one; ValueError for what no file holds."""
        self.folder.mkdir(mode=0o700)
        self.profile.mkdir(mode=0o700)
        write_conf(self.conf, dict(settings))

    def import_cookies(self, text: str) -> int:
        """Take these cookies instead of those that are there; returns how many. ValueError where there are none."""
        count = sum(map(_is_cookie, text.splitlines()))
        if not count:
            raise ValueError("It contains no cookies. The expected format is cookies.txt (Netscape), as curl uses it.")
        atomic_write(self.cookies, text, 0o600)
        return count

    def layer(self) -> Layer:
        """The settings that it stands for."""
        return _layer(self, _changed_at(self.conf), self.cookies.is_file())


def personas_in(folder: Path) -> list[Persona]:
    """Every persona of a collection, by name."""
    return [Persona(path) for path in sorted(folder.iterdir()) if path.is_dir()] if folder.is_dir() else []


@lru_cache(maxsize=64)
def _layer(persona: Persona, _conf_changed_at: int, has_cookies: bool) -> Layer:
    """The same object as long as nothing changed: it is asked for every page."""
    said: dict[str, JSON] = {"COOKIES_FILE": str(persona.cookies)} if has_cookies else {}
    return Layer("persona", {**said, **read_conf(persona.conf)})


def _changed_at(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def _is_cookie(line: str) -> bool:
    fields = line.removeprefix("#HttpOnly_").split("\t")
    return len(fields) == NETSCAPE_FIELDS and not fields[0].startswith("#")
