#!/usr/bin/env python3
"""Reports bookmarks, of the document as it was sent."""

from archivebox.plugins.base.links import Format, report_document


def main() -> None:
    report_document("PARSE_NETSCAPE_URLS", Format.NETSCAPE)


if __name__ == "__main__":
    main()
