"""Snapshots of pages and what each hook made of them."""
