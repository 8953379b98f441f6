#!/usr/bin/env python3
"""Answers for PostgreSQL's index: index, remove, query, flush."""

from fulltext import PostgresIndex

from archivebox.plugins.base.searching import answer

if __name__ == "__main__":
    answer(PostgresIndex())
