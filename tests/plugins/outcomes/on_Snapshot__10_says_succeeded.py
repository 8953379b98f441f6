"""Exit 0, succeeded."""

import json

print(json.dumps({"type": "ArchiveResult", "status": "succeeded", "output_str": "said succeeded"}), flush=True)
