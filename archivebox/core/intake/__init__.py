"""How URLs become crawls and snapshots."""
