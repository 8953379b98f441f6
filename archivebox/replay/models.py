"""Shop window of the models of replay: each is made in a file of its own."""

from archivebox.replay.scripts.view import ScriptView

__all__ = ["ScriptView"]
