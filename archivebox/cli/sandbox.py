"""Owns what is said of the sandbox that Chromium does not have for root."""

NO_SANDBOX = "Running as root: Chromium runs without its sandbox."
AS_ORDINARY_USER = "Run ArchiveBox as an ordinary user, so that hostile pages stay in Chromium's sandbox."
