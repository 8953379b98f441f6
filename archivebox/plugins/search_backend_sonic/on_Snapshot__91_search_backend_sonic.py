#!/usr/bin/env python3
"""Brings the text of this Snapshot into Sonic, in place of what it had before."""

from sonic import SonicIndex

from archivebox.plugins.base import Settings, give_up_after
from archivebox.plugins.base.searching import index_this_page


def main() -> None:
    give_up_after(Settings().timeout("SEARCH_BACKEND_SONIC"))
    index_this_page(SonicIndex())


if __name__ == "__main__":
    main()
