#!/usr/bin/env python3
"""Reports the URLs of a table, of the document as it was sent."""

from archivebox.plugins.base.links import ListFormat, report_document


def main() -> None:
    report_document("PARSE_CSV_URLS", ListFormat.CSV)


if __name__ == "__main__":
    main()
