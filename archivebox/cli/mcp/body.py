"""Owns `archivebox mcp`: lines of JSON-RPC in, lines of JSON-RPC out, until the assistant leaves."""

import sys

from archivebox.cli.mcp.protocol import answer
from archivebox.cli.mcp.tools import TOOLS
from archivebox.cli.session import Session


def run(session: Session, *, read_only: bool) -> int:
    tools = {name: tool for name, tool in TOOLS.items() if not (read_only and tool.changes)}
    for line in sys.stdin.buffer:
        said = answer(line, tools) if line.strip() else None
        if said is not None:
            session.out.record(said)
    return 0
