"""How pages describe processes."""
