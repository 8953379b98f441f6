"""Exports as a site that needs no server: it is opened as a file. What strangers wrote runs no script in it."""
