"""Sleeps for ever and will not hear of TERM."""

import signal
import time

signal.signal(signal.SIGTERM, signal.SIG_IGN)
while True:
    time.sleep(60)
