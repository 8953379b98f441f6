"""One file a kind of page: parse, call what is below, render."""
