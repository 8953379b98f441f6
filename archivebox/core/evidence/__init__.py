"""Hashes, signatures and time stamps of a snapshot, and checking them."""
