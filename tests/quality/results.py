"""Owns the file of what was measured, beside a kept archive: a page that is measured again takes its old place."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.quality.archive import Captured
from tests.quality.measure import Measured
from tests.quality.samples import SAMPLES
from tests.quality.score import Score

NAME = "measured.json"


def load(folder: Path) -> dict[str, Measured]:
    """Path → what was measured of a page before; of pages that are no samples any more nothing."""
    file = folder / NAME
    rows = json.loads(file.read_text("utf-8")) if file.exists() else {}
    return {
        sample.path: Measured(
            sample,
            Captured(**row["captured"]),
            Score(**row["noise"]),
            row["first"],
            {name: Score(**score) if score else None for name, score in row["scores"].items()},
            row.get("day", ""),
        )
        for sample in SAMPLES
        if (row := rows.get(sample.path))
    }


def save(folder: Path, measured: Iterable[Measured]) -> None:
    rows = {one.sample.path: _row(one) for one in measured}
    (folder / NAME).write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", "utf-8")


def _row(one: Measured) -> dict[str, Any]:
    row = asdict(one)
    del row["sample"]  # which is what the code says of it now
    return row


def in_order(measured: Mapping[str, Measured]) -> list[Measured]:
    """As the samples stand."""
    return [measured[one.path] for one in SAMPLES if one.path in measured]
