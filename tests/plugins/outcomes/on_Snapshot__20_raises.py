"""An exception nobody caught."""

raise RuntimeError("never mind")
