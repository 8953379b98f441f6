"""Imports the models of replay, so that Django finds them."""

from archivebox.replay.scripts.view import ScriptView

__all__ = ["ScriptView"]
