"""Backups of a collection: made while it is used, in generations of ordinary files, checked and restored."""
