#!/usr/bin/env python3
"""Reports the links of Markdown, of the document as it was sent."""

from archivebox.plugins.base.links import ListFormat, report_document


def main() -> None:
    report_document("PARSE_MD_URLS", ListFormat.MD)


if __name__ == "__main__":
    main()
