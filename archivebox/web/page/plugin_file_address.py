"""Owns how a file of a plugin is written into an address."""

from urllib.parse import quote


def address_of(plugin: str, name: str) -> str:
    """A file of a plugin, relative to the address of the snapshot's files."""
    return quote(f"{plugin}/{name}")
