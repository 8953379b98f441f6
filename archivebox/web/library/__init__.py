"""Lists of snapshots: cards, search, share links."""
