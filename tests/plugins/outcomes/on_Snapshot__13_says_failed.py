"""Exit 0, failed: I ran; it was not to be had."""

import json

print(json.dumps({"type": "ArchiveResult", "status": "failed", "output_str": "said failed"}), flush=True)
