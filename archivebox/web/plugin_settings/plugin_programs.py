"""Owns the programs of plugins as pages show them: where they are, or the one command that gets them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from archivebox.config.resolve import Resolved
from archivebox.contract import reasons
from archivebox.contract.binaries import BinaryRequest
from archivebox.contract.discovery import Plugin
from archivebox.hooks import needed_programs
from archivebox.hooks.registry import path_of_program
from archivebox.machine.models import Binary


@dataclass(frozen=True, slots=True)
class PluginProgram:
    """A program that a plugin needs, as this machine has it. ``row``: None where nobody has looked for it yet."""

    asked: BinaryRequest
    row: Binary | None

    @property
    def path(self) -> str:
        if self.row is None:
            return path_of_program(self.asked.name)
        return self.row.abspath if self.row.is_there else ""

    @property
    def version(self) -> str:
        return self.row.version if self.row is not None and self.row.is_there else ""

    @property
    def is_missing(self) -> bool:
        return not self.path

    @property
    def why(self) -> str:
        """What is known of one that is missing."""
        if self.row is None:
            return "Not checked yet."
        if self.row.status in {Binary.StatusChoices.QUEUED, Binary.StatusChoices.STARTED}:
            return "Being checked."
        return self.row.message or (reasons.sentence(self.row.reason) if self.row.reason else "No longer installed.")

    @property
    def command(self) -> str:
        return f"archivebox install {self.asked.name}"


def rows_here() -> dict[str, Binary]:
    """What is known of every program on this machine, by name."""
    return {row.name: row for row in Binary.objects.here()}


def programs_of(plugin: Plugin, resolved: Resolved, rows: Mapping[str, Binary]) -> list[PluginProgram]:
    return [PluginProgram(asked, rows.get(asked.name)) for asked in needed_programs(plugin, resolved)]


def lacks(programs: Iterable[PluginProgram]) -> bool:
    """Whether one is missing without which it does not work."""
    return any(program.is_missing and not program.asked.optional for program in programs)
