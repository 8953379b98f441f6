"""A program that takes what its input says: the work that tests of limits want done."""

import sys

from archivebox.lib.module_process import limit

limit(400_000_000, 1)
wanted = sys.stdin.read()
if wanted == "memory":
    bytearray(500_000_000)
while wanted == "time":
    pass
if wanted == "error":
    raise ValueError(wanted)
sys.stdout.write(f"{wanted} done")
