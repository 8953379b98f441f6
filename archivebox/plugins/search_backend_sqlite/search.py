#!/usr/bin/env python3
"""Answers for the SQLite index: index, remove, query, flush."""

from index import Index

from archivebox.plugins.base.searching import answer

if __name__ == "__main__":
    answer(Index())
