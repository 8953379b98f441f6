"""Told to stop: says that it failed."""

import json
import signal
import sys


def stop(*_: object) -> None:
    print(json.dumps({"type": "ArchiveResult", "status": "failed", "output_str": "said failed"}), flush=True)
    sys.exit(0)


signal.signal(signal.SIGTERM, stop)
print("ready", flush=True)
while True:
    signal.pause()
