#!/usr/bin/env python3
"""Reports the URLs of plain text, of the document as it was sent."""

from archivebox.plugins.base.links import Format, report_document


def main() -> None:
    report_document("PARSE_TXT_URLS", Format.TXT)


if __name__ == "__main__":
    main()
