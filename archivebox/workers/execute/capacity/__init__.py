"""How much a worker does at a time."""
