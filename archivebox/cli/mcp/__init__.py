"""Owns the options of `archivebox mcp`."""

from archivebox.cli.declare import command, flag

COMMAND = command(
    "mcp",
    "mcp.body",
    "Speak the Model Context Protocol on stdin and stdout: an assistant searches, reads and adds pages. "
    "Its program starts this command; whatever it adds is archived when a server or `archivebox run` is at work.",
    [flag("--read-only", text="It may search and read, and add nothing.")],
)
