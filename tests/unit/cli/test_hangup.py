"""A command whose terminal is closed ends as by SIGHUP, whichever comes first: the signal, or a write that fails."""

import os
import subprocess
import sys

import pytest

BEGIN = """
import signal, sys
from archivebox.cli.errors import StoppedError
from archivebox.cli.output import Column, Output
out, row = Output(), {"title": "a page"}
sys.stdin.readline()
"""
"""What it is given to read comes once the terminal is closed."""
SAYS, DRAWS, WARNS = "out.say('It goes on.')", "out.table([Column('title', 'title')], [row])", "out.warn('It goes on.')"


def at_a_closed_terminal(code: str) -> int:
    """Exit status of Python code that has shown nothing yet."""
    terminal, its_end = os.openpty()
    command = [sys.executable, "-c", BEGIN + code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=its_end, stderr=its_end) as running:
        os.close(its_end)
        os.close(terminal)
        running.communicate(b"\n", timeout=100)
        return running.returncode


@pytest.mark.parametrize("act", [SAYS, DRAWS, WARNS])
def test_whatever_is_shown_at_a_closed_terminal_ends_the_command(act: str) -> None:
    code = f"try:\n    {act}\nexcept StoppedError as stop:\n    {act}\n    sys.exit(stop.exit_code)\n"
    assert at_a_closed_terminal(code) == 129


@pytest.mark.parametrize("act", [SAYS, DRAWS, WARNS])
def test_under_nohup_it_goes_on(act: str) -> None:
    ignored = "signal.signal(signal.SIGHUP, signal.SIG_IGN)"
    assert at_a_closed_terminal(f"{ignored}\n{act}\n{act}\nsys.exit(7)\n") == 7


def test_a_second_hang_up_does_not_interrupt_the_end() -> None:
    code = f"try:\n    {SAYS}\nexcept StoppedError:\n    signal.raise_signal(signal.SIGHUP)\n    sys.exit(7)\n"
    assert at_a_closed_terminal(code) == 7
