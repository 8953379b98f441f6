#!/usr/bin/env python3
"""Reports uRLs in JSON, of the document as it was sent."""

from archivebox.plugins.base.links import Format, report_document


def main() -> None:
    report_document("PARSE_JSONL_URLS", Format.JSONL)


if __name__ == "__main__":
    main()
