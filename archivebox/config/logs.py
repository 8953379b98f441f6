"""Owns the log's form: one line a message, a sentence for people, then ``action=`` and ids for machines."""

import logging
import sys
import time
from logging.handlers import WatchedFileHandler
from pathlib import Path

LOGGER = "archivebox"
"""The logger that all others of the application are below."""

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class LineFormatter(logging.Formatter):
    """``2026-01-31T12:00:00.123Z INFO archivebox.workers The hook ended. action=hook_ended process_id=…``.

    Everything given by ``extra=`` follows the sentence as ``key=value``, ``action`` first. Control characters, which
    archived pages and programs may have put there, are escaped, so that no message can pretend to
    be two; a traceback follows indented.
    """

    def format(self, record: logging.LogRecord) -> str:
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        text = _one_line(record.getMessage())
        line = f"{moment}.{int(record.msecs):03d}Z {record.levelname} {record.name} {text}{_extras(record)}"
        if record.exc_info:
            line += "".join(f"\n    {_one_line(part)}" for part in self.formatException(record.exc_info).split("\n"))
        return line


def _extras(record: logging.LogRecord) -> str:
    extra = {key: value for key, value in vars(record).items() if key not in _STANDARD}
    keys = sorted(extra, key=lambda key: (key != "action", key))
    return "".join(f" {key}={_word(str(extra[key]))}" for key in keys)


def _word(value: str) -> str:
    clean = _one_line(value)
    return clean if clean and not any(char in ' "=' for char in clean) else '"' + clean.replace('"', '\\"') + '"'


def _one_line(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)


class LogFile(WatchedFileHandler):
    """A log that is reopened when it was rotated. Where its folder is gone, nothing is logged until it is back."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            super().emit(record)
        except OSError:
            self.handleError(record)


def set_up(level: str, file: Path | None = None) -> logging.Logger:
    """Send the application's messages to ``file`` (reopened when rotated), or to stderr; replaces an earlier set-up.

    ValueError for a level that does not exist, OSError if the file cannot be opened.
    """
    logger = logging.getLogger(LOGGER)
    logger.setLevel(level)
    handler: logging.Handler = (
        logging.StreamHandler(sys.stderr)
        if file is None
        else LogFile(file, encoding="utf-8", errors="backslashreplace")
    )
    handler.setFormatter(LineFormatter())
    for old in list(logger.handlers):
        logger.removeHandler(old)
        old.close()
    logger.addHandler(handler)
    logging.raiseExceptions = False  # a full disk fills no terminal with what could not be written to the log
    logger.propagate = False
    return logger


def set_up_django() -> None:
    """Send what Django says of requests to stderr in the same form."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(LineFormatter())
    handler.addFilter(_without_traceback_of_refusal)
    logging.getLogger("django").addHandler(handler)


def _without_traceback_of_refusal(record: logging.LogRecord) -> bool:
    """A refused request (4xx) is no error of ours: its line is enough, and anybody could fill the disk with more."""
    if getattr(record, "status_code", 500) < 500:
        record.exc_info = None
    return True
