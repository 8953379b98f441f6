#!/usr/bin/env python3
"""Reports the links of the page's HTML: after scripts, else as the server sent it."""

from archivebox.plugins.base.links import report_page


def main() -> None:
    report_page("PARSE_HTML_URLS")


if __name__ == "__main__":
    main()
