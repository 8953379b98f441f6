"""Archived HTML and CSS, changed so that all they name is asked of the archive."""
