"""What changes while people look: one look at the database for all of them, and what it found sent to each."""
