"""Never runs: its plugin is switched off."""

import sys

sys.exit(1)
