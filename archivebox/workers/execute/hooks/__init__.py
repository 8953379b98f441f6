"""One run of one hook: its process, its row, and what it prints."""
