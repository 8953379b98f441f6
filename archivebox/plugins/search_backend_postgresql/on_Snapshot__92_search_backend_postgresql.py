#!/usr/bin/env python3
"""Brings the text of this Snapshot into PostgreSQL's index, in place of what it had before."""

from fulltext import PostgresIndex

from archivebox.plugins.base import Settings, set_deadline
from archivebox.plugins.base.searching import index_this_page


def main() -> None:
    set_deadline(Settings().timeout("SEARCH_BACKEND_POSTGRESQL"))
    index_this_page(PostgresIndex())


if __name__ == "__main__":
    main()
