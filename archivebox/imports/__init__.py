"""Pages that were archived elsewhere become Snapshots, with their content, and without a request to anybody."""
