"""Owns the shop window of the query language: what everybody who looks for Snapshots by a text calls."""

from archivebox.search.query.completion import Suggestion, complete
from archivebox.search.query.explanation import explain
from archivebox.search.query.parser import parse
from archivebox.search.query.selection import Selection, chosen, select
from archivebox.search.query.tree import QueryError

__all__ = ["QueryError", "Selection", "Suggestion", "chosen", "complete", "explain", "parse", "select"]
