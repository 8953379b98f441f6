"""Owns handing out what was archived, in formats that others read."""
