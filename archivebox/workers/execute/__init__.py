"""What a worker does with what it holds: steps, hooks, records, the live page, the seal."""
