"""Owns what a plugin says of its outputs: which is a picture, an icon, a preview or text, and which is shown first."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal, cast, get_args

from archivebox.lib.jsonl import JSON

Role = Literal[
    "icon", "picture", "preview", "reader", "text", "headers", "responses", "recording", "links", "evidence", "files"
]  # fmt: skip
ROLES: tuple[Role, ...] = get_args(Role)
"""What a file may be. ``docs/plugin-contract.md`` says what is done with each."""
OutputKind = Literal["picture", "pdf", "single_file", "replay", "text", "media", "source_code"]
OUTPUT_KINDS: tuple[OutputKind, ...] = get_args(OutputKind)
"""What people choose to keep of a page. A plugin that names none in ``x-keeps`` helps others, and always runs."""
CONTENT: frozenset[Role] = frozenset({"picture", "preview", "reader", "text", "files"})
"""The roles of what is of the page itself; the others speak about it."""
ABOUT_OTHERS = frozenset({"hashes", "timestamp", "quality"})
"""Plugins whose files say something about other outputs, as the role of evidence does, whatever they declare."""
RECORDING: Role = "recording"
"""The role of what bundled hooks read of another plugin: all that the browser got, in the form of ours."""
DECLARED: frozenset[Role] = frozenset({"headers", "responses", RECORDING, "evidence"})
"""Roles of files in a form of ours: only a plugin that names them has them, whatever it replaces."""
UNRANKED = 50
"""The rank of an output whose plugin names none."""


@dataclass(frozen=True, slots=True)
class OutputPattern:
    """One kind of file of a plugin.

    ``file``: a pattern as of fnmatch(3), relative to the plugin's folder. ``label``: what people call it. ``rank``: the
    lowest is shown first, where several plugins have the same role.
    """

    role: Role
    file: str
    label: str = ""
    rank: int = UNRANKED

    def matches(self, name: str) -> bool:
        return fnmatchcase(name, self.file)


UNDECLARED = (OutputPattern("preview", "*.html"),)
"""Of a plugin that says nothing, or is no longer there: what may be a page is shown as one."""


def read_outputs(declared: JSON) -> tuple[tuple[OutputPattern, ...], tuple[str, ...]]:
    """The ``x-outputs`` of a config.json, and sentences about what in it is not understood and ignored."""
    if not isinstance(declared, list):
        return (), ('"x-outputs" is not a list and is ignored',)
    problems: list[str] = []
    found = tuple(_outputs(declared, problems))
    return found, tuple(problems)


def read_keeps(declared: JSON) -> tuple[OutputKind | Literal[""], tuple[str, ...]]:
    """The ``x-keeps`` of a config.json, and a sentence where it is none that is known."""
    if declared in OUTPUT_KINDS:
        return declared, ()
    return "", () if declared is None else (f'"x-keeps" wants one of {", ".join(OUTPUT_KINDS)}, not {declared!r}',)


def _outputs(declared: list[JSON], problems: list[str]) -> Iterator[OutputPattern]:
    for entry in declared:
        if isinstance(entry, dict) and entry.get("role") in ROLES and isinstance(entry.get("file"), str):
            yield _output(entry)
        else:
            problems.append(f'"x-outputs" wants entries with a role ({", ".join(ROLES)}) and a file, not {entry!r}')


def _output(entry: Mapping[str, JSON]) -> OutputPattern:
    rank = entry.get("rank")
    ranked = rank if isinstance(rank, int) and not isinstance(rank, bool) else UNRANKED
    return OutputPattern(cast("Role", entry["role"]), str(entry["file"]), str(entry.get("label") or ""), ranked)


def ranked(outputs: Mapping[str, tuple[OutputPattern, ...]], role: Role) -> list[tuple[str, OutputPattern]]:
    """What plays a role, best first, with the plugin's name; ``outputs`` by plugin."""
    found = [
        (plugin, output) for plugin, ones in outputs.items() for output in ones or UNDECLARED if output.role == role
    ]
    return sorted(found, key=lambda one: (one[1].rank, one[0]))


def is_output(plugin: str, outputs: tuple[OutputPattern, ...], files: Collection[str]) -> bool:
    """Whether one of ``files`` is more than a word about other outputs."""
    evidence = [output for output in outputs if output.role == "evidence"]
    return plugin not in ABOUT_OTHERS and any(not any(one.matches(name) for one in evidence) for name in files)


def is_content(outputs: tuple[OutputPattern, ...], files: Collection[str]) -> bool:
    """Whether one of ``files`` is of the page itself, as the plugin that left them says."""
    patterns = [output for output in outputs or UNDECLARED if output.role in CONTENT]
    return any(output.matches(name) for output in patterns for name in files)
