"""Webhooks: what happens here, told to addresses that people have registered, each message at least once."""
