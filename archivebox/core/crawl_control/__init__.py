"""What people change of crawls and snapshots that exist."""
