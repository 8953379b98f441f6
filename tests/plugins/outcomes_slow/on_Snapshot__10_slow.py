"""Sleeps for ever, and has said nothing."""

import time

while True:
    time.sleep(60)
