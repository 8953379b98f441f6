"""The web server's process: its listeners, its limits, its row."""
