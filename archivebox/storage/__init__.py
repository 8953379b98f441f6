"""Where bytes lie in the data folder."""
