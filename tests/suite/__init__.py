"""What runs the tests: system packages, the suite on SQLite, the suite on PostgreSQL."""
