"""Who gets which work: leases, fair turns, politeness, and what comes back when a worker dies."""
