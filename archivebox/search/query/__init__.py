"""Owns the shop window of the query language: what everybody who looks for Snapshots by a text calls."""

from archivebox.search.query.explanation import Suggestion, complete, explain
from archivebox.search.query.parser import QueryError, parse
from archivebox.search.query.selection import Selection, chosen, select

__all__ = ["QueryError", "Selection", "Suggestion", "chosen", "complete", "explain", "parse", "select"]
