"""Shop window of the models of search."""

from archivebox.search.saved import SavedSearch

__all__ = ["SavedSearch"]
