"""PostgreSQL of tests."""
