"""What every row and every item of work has in common."""
