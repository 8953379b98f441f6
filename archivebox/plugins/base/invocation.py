"""What a hook was called with: its command line."""

from __future__ import annotations

import json
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    JSON: TypeAlias = dict[str, "JSON"] | list["JSON"] | str | int | float | bool | None


class Hook:
    """The arguments of one run of a hook.

    `options` holds every `--name=value` or `--name value` under its name with `_` for `-`. A value is JSON where it
    begins with `{`, `[` or `"` or is `true`, `false` or `null`; everything else is text as given.
    `--name` alone is true.
    """

    __slots__ = ("crawl_id", "depth", "options", "snapshot_id", "url")

    def __init__(self, options: dict[str, JSON]) -> None:
        self.options = options
        self.url = self.text("url")
        self.snapshot_id = self.text("snapshot_id")
        self.crawl_id = self.text("crawl_id")
        depth = self.text("depth")
        self.depth = int(depth) if depth.isdigit() else 0

    @classmethod
    def from_argv(cls, argv: Sequence[str] | None = None) -> Hook:
        """Read `argv`, or the command line of this process."""
        return cls(_parse(list(sys.argv[1:] if argv is None else argv)))

    def text(self, name: str, default: str = "") -> str:
        """Return an option as text, '' where it was not given or is null."""
        value = self.options.get(name)
        return default if value is None else str(value)


def _parse(arguments: list[str]) -> dict[str, JSON]:
    options: dict[str, JSON] = {}
    waiting = ""  # the option whose value comes next
    for argument in arguments:
        if argument.startswith("--"):
            name, equals, value = argument[2:].partition("=")
            waiting = "" if equals else name.replace("-", "_")
            options[name.replace("-", "_")] = _value(value) if equals else True
        elif waiting:
            options[waiting] = _value(argument)
            waiting = ""
    return options


def _value(text: str) -> JSON:
    """Return what JSON says where the text looks like JSON, else the text."""
    if text[:1] not in ("{", "[", '"') and text not in ("true", "false", "null"):
        return text
    try:
        value: JSON = json.loads(text)
    except ValueError:
        return text
    return value
