"""What templates need to show rows to people."""
