"""Ended by a signal that is not ours."""

import os
import signal

os.kill(os.getpid(), signal.SIGKILL)
