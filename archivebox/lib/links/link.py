"""Owns what a list of links says of one of them."""

from dataclasses import dataclass

LARGEST_DOCUMENT = 64_000_000
"""Bytes of a file that can only be read as a whole (HTML, XML, a JSON document)."""


class LinkFileError(ValueError):
    """A file that cannot be read as what it should be; the message goes on from the file's name: "holds no text"."""


@dataclass(frozen=True, slots=True)
class Link:
    """One entry. ``problem`` says why there is no URL in it; ``line`` is 0 where no line is known.

    ``date``: when it was kept, published or last changed, ISO 8601 in UTC; ``text``: what is said of it, as HTML.
    """

    line: int
    url: str
    title: str = ""
    tags: tuple[str, ...] = ()
    problem: str = ""
    date: str = ""
    text: str = ""


def words(text: str) -> tuple[str, ...]:
    """``one, two three`` → the names between the commas."""
    return tuple(name for part in text.split(",") if (name := " ".join(part.split())))
