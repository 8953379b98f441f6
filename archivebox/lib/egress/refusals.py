"""Owns why a connection is not made: each reason with what HTTP and SOCKS say for it."""

from enum import Enum

FAILED, NOT_ALLOWED, REFUSED, EXPIRED = 1, 2, 5, 6
"""Replies of SOCKS (RFC 1928, 6)."""


class NotConnectedReason(Enum):
    """A word for the log, the status of an answer in HTTP (RFC 9110), and the reply in SOCKS."""

    BAD_REQUEST = "bad_request", 400, FAILED
    PRIVATE_ADDRESS = "private_address", 403, NOT_ALLOWED
    SIZE_REACHED = "size_reached", 403, NOT_ALLOWED
    NO_SUCH_NAME = "no_such_name", 502, FAILED
    CONNECTION_REFUSED = "connection_refused", 502, REFUSED
    UNREACHABLE = "unreachable", 502, REFUSED
    PROXY_FAILED = "proxy_failed", 502, FAILED
    RULES_UNKNOWN = "rules_unknown", 503, FAILED
    TIMEOUT = "timeout", 504, EXPIRED

    def __init__(self, word: str, status: int, reply: int) -> None:
        self.word, self.status, self.reply = word, status, reply

    @property
    def is_refusal(self) -> bool:
        """Whether the rules of the crawl forbid it, so that it will not be otherwise another time."""
        return self.status == 403


class NotConnected(Exception):  # noqa: N818 - what happened, not what went wrong
    """There is no connection; the message is a sentence for people."""

    def __init__(self, why: NotConnectedReason, sentence: str) -> None:
        super().__init__(sentence)
        self.why = why
        self.sentence = sentence
