"""What several pages share: forms of crawls and settings, cards of snapshots, lists in parts, addresses."""
