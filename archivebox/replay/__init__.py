"""Archived bytes, on an origin of their own."""
