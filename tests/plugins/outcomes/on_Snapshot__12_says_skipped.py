"""Exit 0, skipped."""

import json

print(json.dumps({"type": "ArchiveResult", "status": "skipped", "output_str": "said skipped"}), flush=True)
