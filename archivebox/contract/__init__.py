"""The plugin and hook contract: pure functions over names, folders and bytes, without Django and without rows."""
