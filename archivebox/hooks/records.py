"""What becomes of the records that hooks print."""

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from archivebox.contract.binaries import parse_request
from archivebox.contract.records import Record, RefusedRecordError, handler_for
from archivebox.hooks.registry import check_settings
from archivebox.lib.jsonl import JSON
from archivebox.machine.host import settings_in


def process_hook_records(
    records: Iterable[Record | dict[str, JSON]], overrides: Mapping[str, Any] | None = None
) -> dict[str, int]:
    """Hand each record to the model that signed up for its type; returns how many of each type were taken.

    ``overrides`` name the object whose hook printed them (``snapshot``, ``crawl``, ``binary``, ``process``, or any of
    them as ``model``), and who owns what is made (``created_by_id``; else the owner of its crawl). A type that nobody
    knows stays in the log and is counted under ``unknown``.

    RefusedRecordError, another ValueError or an error of the database for a record that must not have an effect: who
    calls it undoes what it has begun.
    """
    given = {"check_settings": check_settings, **_named(overrides or {})}
    counts: dict[str, int] = {}
    for record in records:
        if isinstance(record, Record):
            kind, fields = record.type, record.fields
        else:
            kind, fields = str(record.get("type")), {name: value for name, value in record.items() if name != "type"}
        handler = handler_for(kind)
        if handler is None:
            counts["unknown"] = counts.get("unknown", 0) + 1
        elif handler(fields, given) is not None:
            counts[kind] = counts.get(kind, 0) + 1
    return counts


def refusal_of(record: Record, machine_id: UUID, binary_id: UUID | None) -> str:
    """Why a record must not have an effect, as far as its fields tell; empty where nothing is wrong with them.

    ``binary_id``: the Binary that its hook installs; None where it installs none.
    """
    try:
        if record.type == "Machine":
            settings_in(record.fields, check_settings)
        elif record.type == "Binary":
            parse_request(record.fields)
            _refuse_another(record.fields, {"machine_id": machine_id, "binary_id": binary_id, "id": binary_id})
    except RefusedRecordError as error:
        return f"{record.type}: {error}"
    except ValueError as error:
        return f"{record.type}: it {error}"
    return ""


def _refuse_another(fields: Mapping[str, JSON], own: Mapping[str, UUID | None]) -> None:
    """RefusedRecordError where a record names another object than its hook works for; an empty name is none."""
    for name, key in own.items():
        given = fields.get(name)
        if given and (key is None or str(given).replace("-", "").lower() != key.hex):
            raise RefusedRecordError(f"{name} is another's")


def _named(overrides: Mapping[str, Any]) -> dict[str, Any]:
    """``model``, by which a caller may name its object whatever it is, as the object it is and those above it."""
    model = overrides.get("model")
    if model is None:
        return dict(overrides)
    found = {model._meta.model_name: model}
    found |= {name: above for name in ("snapshot", "crawl") if (above := getattr(model, name, None)) is not None}
    return {**found, **overrides}
