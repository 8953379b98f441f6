"""What runs, how far it is, and what failed."""
