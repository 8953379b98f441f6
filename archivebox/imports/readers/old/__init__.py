"""Owns reading the data folders of ArchiveBox 0.4 to 0.9."""
