"""Settings and programs of plugins as forms and tables."""
