"""A plain background hook that knows nothing of signals."""

import time

print("working", flush=True)
while True:
    time.sleep(60)
