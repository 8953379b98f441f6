"""Another exit status, failed: for good."""

import json
import sys

print(json.dumps({"type": "ArchiveResult", "status": "failed", "output_str": "said failed"}), flush=True)
sys.exit(1)
