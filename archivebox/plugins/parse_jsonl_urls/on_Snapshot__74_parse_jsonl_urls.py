#!/usr/bin/env python3
"""Reports uRLs in JSON, of the document as it was sent."""

from archivebox.plugins.base.links import ListFormat, report_document


def main() -> None:
    report_document("PARSE_JSONL_URLS", ListFormat.JSONL)


if __name__ == "__main__":
    main()
