"""Told to stop: says that it succeeded."""

import json
import signal
import sys


def stop(*_: object) -> None:
    print(json.dumps({"type": "ArchiveResult", "status": "succeeded", "output_str": "said succeeded"}), flush=True)
    sys.exit(0)


signal.signal(signal.SIGTERM, stop)
print("ready", flush=True)
while True:
    signal.pause()
