"""Owns JSON lines: one JSON object a line, written strictly and read tolerantly."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import TypeAlias
from uuid import UUID

JSON: TypeAlias = "bool | int | float | str | list[JSON] | dict[str, JSON] | None"
"""Any JSON value."""

MAX_DEPTH = 64
"""Deeper nesting is no record of ours; the limit keeps recursive readers far from Python's own (1,000)."""

MAX_INTEGER = 2**63 - 1
"""Largest integer that SQLite and PostgreSQL keep; beyond it a number is read as a float."""


def dumps(record: Mapping[str, object]) -> bytes:
    """``record`` as one UTF-8 line with its line feed; ValueError for NaN, infinities and unknown types."""
    return text(record).encode("utf-8", "replace")


def text(record: Mapping[str, object]) -> str:
    """The same line as text, for printing."""
    line = json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain)
    return line + "\n"


def loads(line: bytes | str) -> dict[str, JSON] | None:
    """The object that ``line`` holds, or None for anything else; never raises.

    What a database cannot keep is made harmless: NaN and infinities become None, integers beyond 64 bits floats,
    NUL and lone surrogates U+FFFD.
    """
    if isinstance(line, bytes):
        line = line.decode("utf-8", "replace")
    line = line.strip()
    if not line.startswith("{") or _too_deep(line):
        return None
    try:
        value = _decode(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    if line.isascii() and "\\u" not in line:
        return value
    return {_harmless_text(key): _harmless(item) for key, item in value.items()}


def iter_lines(lines: Iterable[bytes | str]) -> Iterator[dict[str, JSON]]:
    """The objects among ``lines``, in order; whatever is none is passed over."""
    for line in lines:
        record = loads(line)
        if record is not None:
            yield record


def read(path: Path) -> Iterator[dict[str, JSON]]:
    """The objects of a file, one line in memory at a time; OSError if it cannot be read."""
    with path.open("rb") as file:
        yield from iter_lines(file)


def _plain(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, UUID | Path):
        return str(value)
    raise ValueError(f"a {type(value).__name__} cannot be written as JSON")


def _no_number(_name: str) -> None:
    return None


def _finite(digits: str) -> float | None:
    number = float(digits)
    return number if math.isfinite(number) else None


def parse_integer(digits: str) -> int | float | None:
    if len(digits) > 20 or abs(int(digits)) > MAX_INTEGER:
        return _finite(digits)
    return int(digits)


_decode = json.JSONDecoder(parse_constant=_no_number, parse_float=_finite, parse_int=parse_integer).decode


def _too_deep(line: str) -> bool:
    """Whether brackets nest deeper than ``MAX_DEPTH``; brackets inside strings do not count."""
    if line.count("{") + line.count("[") <= MAX_DEPTH:
        return False
    depth, in_string, escaped = 0, False, False
    for char in line:
        if in_string:
            in_string = escaped or char != '"'
            escaped = char == "\\" and not escaped
        elif char == '"':
            in_string = True
        elif char in "{[":
            depth += 1
            if depth > MAX_DEPTH:
                return True
        elif char in "}]":
            depth -= 1
    return False


def _harmless(value: JSON) -> JSON:
    if isinstance(value, str):
        return _harmless_text(value)
    if isinstance(value, list):
        return [_harmless(item) for item in value]
    if isinstance(value, dict):
        return {_harmless_text(key): _harmless(item) for key, item in value.items()}
    return value


def _harmless_text(value: str) -> str:
    if value.isascii() and "\0" not in value:
        return value
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", "\ufffd")
