"""Owns in which object store pages are stored besides the data folder, and for how long, as settings say."""

from dataclasses import dataclass
from datetime import timedelta
from functools import cache

from archivebox.config.conffile import ConfError
from archivebox.config.early import early_settings
from archivebox.config.settings import DATA_FOLDER
from archivebox.lib.object_store import DEFAULT_LIMITS, ObjectStore, RequestLimits, open_store

FOR_PEOPLE = RequestLimits(connect=3.0, answer=10.0, attempts=2)
_limits = DEFAULT_LIMITS


@dataclass(frozen=True, slots=True)
class StorageSettings:
    """``url``: empty where the data folder alone is used; ``cache``: bytes of local copies that stay."""

    url: str
    grace: timedelta
    cache: int


@cache
def storage_settings() -> StorageSettings:
    """As they were when this process asked first. SettingError, ConfError."""
    settings = early_settings(DATA_FOLDER)
    grace = timedelta(seconds=settings.get_int("STORAGE_GRACE"))
    return StorageSettings(settings.get_text("STORAGE_URL"), grace, settings.get_int("STORAGE_CACHE"))


def has_store() -> bool:
    """Whether pages are stored in an object store as well."""
    return bool(storage_settings().url)


@cache
def object_store() -> ObjectStore:
    """The store of STORAGE_URL, which has to be set. ConfError for a URL of no store."""
    return store_at(storage_settings().url)


def store_at(url: str) -> ObjectStore:
    """Any store, by its URL. ConfError."""
    try:
        return open_store(url, _limits)
    except ValueError as error:
        raise ConfError(f"STORAGE_URL is {error}.") from error


def answer_soon() -> None:
    """Have this process give a store that does not answer up after seconds: people wait for it, and can ask again."""
    global _limits  # noqa: PLW0603 - of the one store of this process
    _limits = FOR_PEOPLE
    object_store.cache_clear()


def forget_store() -> None:
    """Have settings and store read again: after a fork, and in tests."""
    storage_settings.cache_clear()
    object_store.cache_clear()
