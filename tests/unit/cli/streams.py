"""Outputs of a command that a test can read."""

import io

from archivebox.cli.output import Output


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def for_people() -> tuple[Output, Terminal]:
    stream = Terminal()
    return Output(stdout=stream, stderr=io.StringIO()), stream


def in_a_pipe() -> tuple[Output, io.StringIO, io.StringIO]:
    out, err = io.StringIO(), io.StringIO()
    return Output(stdout=out, stderr=err), out, err
