"""Owns lines of CSV files (RFC 4180) that people open in spreadsheets."""

import csv
import io
from collections.abc import Sequence

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv_line(cells: Sequence[str]) -> str:
    """One line with its end. A cell that a spreadsheet would run as a formula is made a text (OWASP, CSV injection)."""
    text = io.StringIO()
    csv.writer(text).writerow([f"'{cell}" if cell.startswith(_FORMULA) else cell for cell in cells])
    return text.getvalue()
