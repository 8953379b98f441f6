"""Reads one line of a file of JSON records, which a full disk or a kill may have torn."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from archivebox.plugins.base.cdp import Params


def record_in(line: bytes) -> Params:
    """Return the JSON object in a line; {} where there is none, or only a part of one."""
    try:
        record = json.loads(line)
    except ValueError:
        return {}
    return record if isinstance(record, dict) else {}
