"""Another exit status, no record."""

import sys

sys.exit(3)
