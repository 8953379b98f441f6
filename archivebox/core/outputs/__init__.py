"""What hooks wrote for a snapshot, and how good it is."""
