"""Imports the models of search, so that Django finds them."""

from archivebox.search.saved import SavedSearch
from archivebox.search.share import ShareLink

__all__ = ["SavedSearch", "ShareLink"]
