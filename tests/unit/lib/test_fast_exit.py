"""A process leaves at once, and owes nobody anything."""

import subprocess
import sys

import pytest

ATEXIT = "import atexit; from archivebox.lib.startup import fast_exit; atexit.register(print, 'asked')\n"
THREAD = "import threading, time; threading.Thread(target=lambda: (time.sleep(0.05), print('done'))).start()\n"


def left_by(script: str) -> tuple[str, int]:
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    return done.stdout, done.returncode


@pytest.mark.parametrize("before", ["", "import sys; sys.stderr = None\n"])
def test_what_waits_for_the_end_is_done_and_written(before: str) -> None:
    assert left_by(f"{ATEXIT}{before}print('said')\nfast_exit(3)") == ("said\nasked\n", 3)


def test_threads_are_waited_for() -> None:
    assert left_by(f"{ATEXIT}{THREAD}fast_exit(3)") == ("done\nasked\n", 3)
