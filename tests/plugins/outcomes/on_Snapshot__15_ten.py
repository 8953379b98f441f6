"""Exit 10, no record."""

import sys

sys.exit(10)
