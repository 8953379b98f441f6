"""For how long a server wishes to be left alone."""

from archivebox.lib.retry_after import seconds_of

__all__ = ["seconds_of"]
