"""Owns the options of `archivebox mcp`."""

from archivebox.cli.declare import command, flag

COMMAND = command(
    "mcp",
    "mcp.body",
    "Serve the Model Context Protocol on stdin and stdout, so that an assistant can search, read and"
    " add pages. The assistant's program starts this command. Added pages are archived while a "
    "server or `archivebox run` is running.",
    [flag("--read-only", text="Allow searching and reading, but not adding.")],
)
