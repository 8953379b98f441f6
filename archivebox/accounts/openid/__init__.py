"""Logging in at an OpenID Connect provider: what is set, what it is asked, and who comes in by what it answers."""
