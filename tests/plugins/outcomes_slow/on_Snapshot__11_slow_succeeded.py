"""Sleeps for ever, but had done its work."""

import json
import time

print(json.dumps({"type": "ArchiveResult", "status": "succeeded", "output_str": "said succeeded"}), flush=True)
while True:
    time.sleep(60)
