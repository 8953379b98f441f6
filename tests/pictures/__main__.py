"""Takes pictures of the real program: of the README, or of a newcomer's first minute."""

from __future__ import annotations

import argparse
from pathlib import Path

from tests.pictures import first_minute, readme


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.pictures", description=__doc__)
    commands = parser.add_subparsers(dest="command")
    minute = commands.add_parser("first-minute", help=first_minute.__doc__)
    minute.add_argument("folder", type=Path, help="where the pictures go, in a folder for each size and theme")
    minute.add_argument("--look", action="append", choices=first_minute.LOOKS, help="only this one; may be repeated")
    chosen = parser.parse_args()
    if chosen.command == "first-minute":
        first_minute.take_all(chosen.folder, chosen.look or first_minute.LOOKS)
    else:
        readme.take_everything()


if __name__ == "__main__":
    main()
