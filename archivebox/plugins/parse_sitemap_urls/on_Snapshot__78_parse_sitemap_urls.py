#!/usr/bin/env python3
"""Reports the pages of a sitemap, of the document as it was sent."""

from archivebox.plugins.base.links import ListFormat, report_document


def main() -> None:
    report_document("PARSE_SITEMAP_URLS", ListFormat.SITEMAP)


if __name__ == "__main__":
    main()
