"""Owns the ways a command ends other than by finishing: wrong input, a signal."""

import signal


class BadInputError(Exception):
    """What was typed cannot be done; the message says what is wrong and what to do. Exit status 2."""


class FailedError(Exception):
    """What was asked for failed for a reason that people can mend; the message says which. Exit status 1."""


class StoppedError(BaseException):
    """A signal asked us to stop. Exit status 128 + its number."""

    def __init__(self, signum: int) -> None:
        super().__init__(signal.Signals(signum).name)
        self.signum = signum

    @property
    def exit_code(self) -> int:
        return 128 + self.signum
