"""A hook that refuses its options, as click says it."""

import sys

print("Error: No such option: --snapshot-id", file=sys.stderr)
sys.exit(2)
