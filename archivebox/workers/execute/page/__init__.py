"""One Snapshot, from step 0 to its seal."""
