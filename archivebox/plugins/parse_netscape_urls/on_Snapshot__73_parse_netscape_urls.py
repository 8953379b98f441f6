#!/usr/bin/env python3
"""Reports bookmarks, of the document as it was sent."""

from archivebox.plugins.base.links import ListFormat, report_document


def main() -> None:
    report_document("PARSE_NETSCAPE_URLS", ListFormat.NETSCAPE)


if __name__ == "__main__":
    main()
