"""Folders of scripts that nothing imports, and `base`, which their authors import."""
