"""Crawls: a set of seeds, their rules and their runs."""
