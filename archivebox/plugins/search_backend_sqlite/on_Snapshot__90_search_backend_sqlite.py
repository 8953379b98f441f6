#!/usr/bin/env python3
"""Brings the text of this Snapshot into the search index, in place of what it had before."""

from index import Index

from archivebox.plugins.base import Settings, set_deadline
from archivebox.plugins.base.searching import index_this_page


def main() -> None:
    set_deadline(Settings().timeout("SEARCH_BACKEND_SQLITE"))
    index_this_page(Index())


if __name__ == "__main__":
    main()
