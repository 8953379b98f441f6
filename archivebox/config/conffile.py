"""Owns `ArchiveBox.conf`: reading its settings, and changing some while the rest stays as its author wrote it."""

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from archivebox.lib.files import atomic_write, locked

_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_FORBIDDEN = frozenset(map(chr, range(32))) - {"\n", "\t"} | {"\x7f"}


class ConfError(ValueError):
    """A conf file that cannot be understood; the message names file and line."""


class _SettingLines(NamedTuple):
    """One setting of a file: the lines from ``start`` up to ``end`` (continuation lines included)."""

    key: str
    value: str
    start: int
    end: int


def read_conf(path: Path) -> dict[str, str]:
    """The settings of a file by name; ``{}`` if it is not there, ConfError for a line that is none.

    ``KEY = value`` a line; ``[SECTIONS]`` and comments (``#``, ``;``) are tolerated, indented lines continue a
    value, one pair of quotes around a value is taken off, the last of two wins.
    """
    return dict(_settings_of(path, _version_of(path)))


def _version_of(path: Path) -> tuple[int, ...]:
    """Changes when the file does; empty for one that is not there."""
    try:
        status = path.stat()
    except OSError:
        return ()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


@lru_cache(maxsize=4)  # a command asks several times; 20 MB of comments took a second each time
def _settings_of(path: Path, _version: tuple[int, ...]) -> Mapping[str, str]:
    return {line.key: line.value for line in _parse(path, _lines(path))}


def write_conf(path: Path, changes: Mapping[str, str | None]) -> None:
    """Set or (None) remove settings, in place and all at once; comments, order and all else stay.

    ValueError for what the file cannot hold, and then nothing is written. Two writers take turns.
    """
    check_settings_text(changes)
    with locked(path.parent):
        lines = _lines(path)
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o600  # it may hold secrets
        changed = _changed(lines, _parse(path, lines), {key.upper(): value for key, value in changes.items()})
        atomic_write(path.resolve(), "".join(f"{line}\n" for line in changed), mode, durable=True)


def check_settings_text(changes: Mapping[str, str | None]) -> None:
    """ValueError for names and values that the file cannot hold."""
    for key, value in changes.items():
        _check(key, value)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8-sig").removesuffix("\n").split("\n")
    except FileNotFoundError:
        if path.is_symlink():
            raise ConfError(f"{path} is a link to {path.readlink()}, which is not there") from None
        return []
    except UnicodeDecodeError as error:
        raise ConfError(f"{path} is not text in UTF-8 (at byte {error.start})") from None
    except OSError as error:
        raise ConfError(f"{path} cannot be read: {error.strerror}") from None


def _parse(path: Path, lines: list[str]) -> list[_SettingLines]:
    found: list[_SettingLines] = []
    for number, line in enumerate(lines):
        stripped = line.strip()
        if not stripped or stripped.startswith(("#", ";")) or (stripped[0] == "[" and stripped[-1] == "]"):
            continue
        if line[0] in " \t" and found and "".join(lines[found[-1].end : number]).strip() == "":
            last = found[-1]
            found[-1] = _SettingLines(last.key, f"{last.value}\n{stripped}", last.start, number + 1)
            continue
        key, equals, value = stripped.partition("=")
        if not equals or not _KEY.fullmatch(key.strip()):
            raise ConfError(f"{path} line {number + 1} is not a setting (KEY = value): {stripped[:60]!r}")
        found.append(_SettingLines(key.strip().upper(), _unquoted(value.strip()), number, number + 1))
    return found


def _changed(lines: list[str], settings: list[_SettingLines], changes: Mapping[str, str | None]) -> list[str]:
    result = list(lines)
    last_of = {setting.key: setting for setting in settings}
    for setting in reversed(settings):
        if setting.key in changes:
            value = changes[setting.key]
            keep = setting is last_of[setting.key] and value is not None
            result[setting.start : setting.end] = _written(setting.key, value) if keep else []
    for key, value in changes.items():
        if key not in last_of:
            result.extend(_written(key, value))
    return result


def _written(key: str, value: str | None) -> list[str]:
    if value is None:
        return []
    quoted = value != value.strip() or value != _unquoted(value)
    first, *rest = (f'"{value}"' if quoted else value).split("\n")
    return [f"{key} = {first}".rstrip(), *(f"    {line}" for line in rest)]


def _unquoted(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value


def _check(key: str, value: str | None) -> None:
    if not _KEY.fullmatch(key):
        raise ValueError(f"{key!r} is not a setting's name (letters, digits and _)")
    if value is None:
        return
    if any(char in _FORBIDDEN or "\ud800" <= char <= "\udfff" for char in value):
        raise ValueError(f"{key} holds control characters or broken text, which the file cannot hold")
    lines = value.split("\n")
    if len(lines) > 1 and any(line != line.strip() or not line or line[0] in "#;[\"'" for line in lines):
        raise ValueError(f"{key} has lines that are empty, indented or begin like a comment; the file cannot hold them")
