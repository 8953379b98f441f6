"""Owns jobs: one thing that is done to many Snapshots, page by page, each exactly once."""
