"""Owns reading the options of an action of `archivebox manage`."""

import argparse
from typing import NoReturn

from archivebox.cli.errors import BadInputError


class Parser(argparse.ArgumentParser):
    """Wrong options are one sentence, as everywhere."""

    def __init__(self, action: str, description: str) -> None:
        super().__init__(f"archivebox manage {action}", description=description, exit_on_error=False)

    def error(self, message: str) -> NoReturn:
        raise BadInputError(f"{message[:1].upper()}{message[1:]}. {self.format_usage().strip().capitalize()}")
