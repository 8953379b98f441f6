"""Told to stop: leaves a file."""

import json
import signal
import sys
from pathlib import Path


def stop(*_: object) -> None:
    print(json.dumps({"type": "Note"}))
    sys.exit(0)


signal.signal(signal.SIGTERM, stop)
with Path("page.txt").open("w") as page:
    page.write("kept")
print("ready", flush=True)
while True:
    signal.pause()
