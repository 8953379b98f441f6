#!/usr/bin/env python3
"""Reports the URLs of plain text, of the document as it was sent."""

from archivebox.plugins.base.links import ListFormat, report_document


def main() -> None:
    report_document("PARSE_TXT_URLS", ListFormat.TXT)


if __name__ == "__main__":
    main()
