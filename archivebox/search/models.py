"""Shop window of the models of search."""

from archivebox.search.saved import SavedSearch
from archivebox.search.share import ShareLink

__all__ = ["SavedSearch", "ShareLink"]
