"""A real server, a real collection, a real browser: what tests of pages share."""
