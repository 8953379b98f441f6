"""One measured thing: its figures round by round, the bound it has to keep, and how both are said."""

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum


class Bound(StrEnum):
    """What the bound of a finding limits."""

    RATIO = "ratio"  # median of ours / median of the floor, at most
    MOST = "most"  # a quantile of ours, at most
    LEAST = "least"  # median of ours, at least
    BEYOND = "beyond"  # median of ours less median of the floor, at most


@dataclass(slots=True)
class Finding:
    """Ours against the floor. ``ours`` and ``floor`` are in ``unit``; the CPU seconds are those of whole trees."""

    name: str
    unit: str
    kind: Bound
    bound: float
    ours: list[float]
    floor: list[float] = field(default_factory=list)
    floor_name: str = "floor"
    ours_cpu: list[float] = field(default_factory=list)
    floor_cpu: list[float] = field(default_factory=list)
    quantile: float = 0.5
    notes: dict[str, float | str] = field(default_factory=dict)

    @property
    def value(self) -> float:
        """The figure that the bound speaks of."""
        ours = quantile(self.ours, self.quantile)
        match self.kind:
            case Bound.RATIO:
                return ours / quantile(self.floor, self.quantile)
            case Bound.BEYOND:
                return ours - quantile(self.floor, self.quantile)
            case _:
                return ours

    @property
    def holds(self) -> bool:
        return self.value >= self.bound if self.kind is Bound.LEAST else self.value <= self.bound

    @property
    def cpu_ratio(self) -> float | None:
        if not self.ours_cpu or not self.floor_cpu or not statistics.median(self.floor_cpu):
            return None
        return statistics.median(self.ours_cpu) / statistics.median(self.floor_cpu)

    def as_json(self) -> dict[str, object]:
        return {**asdict(self), "value": self.value, "holds": self.holds, "cpu_ratio": self.cpu_ratio}

    def lines(self) -> list[str]:
        """What people read: a head, and a line for each series."""
        sign = ">=" if self.kind is Bound.LEAST else "<="
        unit = "x" if self.kind is Bound.RATIO else f" {self.unit}"
        which = "" if self.quantile == 0.5 else f" (p{self.quantile * 100:g})"
        head = f"{'ok  ' if self.holds else 'MISS'} {self.name}{which}: {self.value:.3g}{unit} ({sign} {self.bound:g})"
        if self.cpu_ratio is not None:
            head += f", CPU {self.cpu_ratio:.3g}x"
        series = [
            (self.floor_name, self.floor, self.unit),
            ("ours", self.ours, self.unit),
            (f"{self.floor_name}, CPU", self.floor_cpu, "s"),
            ("ours, CPU", self.ours_cpu, "s"),
        ]
        said = [f"       {name:<22} {spread(values)} {unit}" for name, values, unit in series if values]
        notes = [
            f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
            for name, value in self.notes.items()
        ]
        return [head, *said, *([f"       {', '.join(notes)}"] if notes else [])]


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest value that ``share`` of the others do not exceed; the plain median for 0.5."""
    if share == 0.5:
        return statistics.median(values)
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, math.ceil(share * len(ordered)) - 1)]


def spread(values: Sequence[float]) -> str:
    """Least, median and most."""
    return f"min {min(values):8.4g}  median {statistics.median(values):8.4g}  max {max(values):8.4g}"


def interleaved(rounds: int, *ways: Callable[[], None]) -> None:
    """Each way once a round, so that what else the machine does falls on all of them alike."""
    for _ in range(rounds):
        for way in ways:
            way()
