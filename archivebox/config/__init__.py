"""Settings: their table, their files, their one order of precedence."""
