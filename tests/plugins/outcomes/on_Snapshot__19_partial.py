"""Another exit status after records: those are kept, the rest is tried again."""

import json
import os
import sys

ids = json.loads(os.environ["EXTRA_CONTEXT"])
print(json.dumps({"type": "Tag", "name": "kept"}))
print(json.dumps({"type": "Snapshot", "id": ids["snapshot_id"], "title": "Kept as well"}))
print(json.dumps({"type": "ArchiveResult", "status": "succeeded", "output_str": "half of it"}))
sys.exit(4)
