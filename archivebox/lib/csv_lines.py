"""Owns lines of CSV files (RFC 4180) that people open in spreadsheets, or see on a terminal."""

import csv
import io
import re
from collections.abc import Sequence

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""What a terminal would obey, but for line feed and tab."""


def csv_line(cells: Sequence[str], end: str = "\r\n") -> str:
    """One line with its ``end``, without control characters.

    A cell that a spreadsheet would run as a formula is made a text (OWASP, CSV injection).
    """
    text = io.StringIO()
    harmless = (_CONTROLS.sub("\ufffd", cell) for cell in cells)
    csv.writer(text, lineterminator=end).writerow(
        f"'{cell}" if cell.startswith(_FORMULA) else cell for cell in harmless
    )
    return text.getvalue()
