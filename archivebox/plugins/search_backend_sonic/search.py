#!/usr/bin/env python3
"""Answers for Sonic: index, remove, query, flush."""

from sonic import SonicIndex

from archivebox.plugins.base.searching import answer

if __name__ == "__main__":
    answer(SonicIndex())
