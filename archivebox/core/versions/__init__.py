"""The versions of a URL, and how they differ."""
