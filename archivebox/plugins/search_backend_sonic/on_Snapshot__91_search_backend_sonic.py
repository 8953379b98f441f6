#!/usr/bin/env python3
"""Brings the text of this Snapshot into Sonic, in place of what it had before."""

from sonic import SonicIndex

from archivebox.plugins.base import Settings, set_deadline
from archivebox.plugins.base.searching import index_this_page


def main() -> None:
    set_deadline(Settings().timeout("SEARCH_BACKEND_SONIC"))
    index_this_page(SonicIndex())


if __name__ == "__main__":
    main()
