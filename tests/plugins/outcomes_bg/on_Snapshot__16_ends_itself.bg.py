"""A plain background hook that ends by itself."""

import json

print(json.dumps({"type": "ArchiveResult", "status": "succeeded", "output_str": "said succeeded"}), flush=True)
