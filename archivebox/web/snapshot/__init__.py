"""What the page of a snapshot shows."""
