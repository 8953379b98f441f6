"""Owns moving the rows of a collection from one database to another."""
