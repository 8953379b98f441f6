"""Forms and actions of crawls."""
