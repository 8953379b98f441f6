"""Assigning and editing tags."""
