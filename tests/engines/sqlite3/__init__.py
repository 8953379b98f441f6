"""SQLite of tests."""
