"""Exit 0, noresults."""

import json

print(json.dumps({"type": "ArchiveResult", "status": "noresults", "output_str": "said noresults"}), flush=True)
