"""Exit 10, whatever it printed."""

import json
import sys

print(json.dumps({"type": "ArchiveResult", "status": "succeeded", "output_str": "said succeeded"}), flush=True)
sys.exit(10)
