"""Owns which recorded answer a script gets: by method, URL and body of its request, and by how often it has asked."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from archivebox.replay.index import Recorded, RecordingIndex
from archivebox.replay.locations import Location
from archivebox.replay.records import read_request_body
from archivebox.replay.scripts.bodies import BODY_MOST, BodyNames, names_of

_NAMES_REMEMBERED = 2000
"""Recorded requests whose bodies are not read again."""


def repeats(index: RecordingIndex, url: str) -> Sequence[Recorded]:
    """All whole answers to GET requests of scripts for ``url``, in the order of the requests; else to those of the
    browser itself.
    """
    answers = [one for one in index.answers(url) if one.response.status not in {206, 304}]
    return [one for one in answers if one.response.record.get("type") != "Document"] or answers


def posted(folder: Path, index: RecordingIndex, method: str, url: str, body: bytes) -> Sequence[Recorded]:
    """All answers to such requests with this body, else with one that differs in what is random. Blocks."""
    asked = names_of(body)
    recorded = [(one, _recorded_names(folder, one.head)) for one in index.answers(url, method)]
    same = [one for one, names in recorded if names.exact == asked.exact]
    return same or [one for one, names in recorded if names.alike == asked.alike]


@lru_cache(_NAMES_REMEMBERED)
def _recorded_names(folder: Path, answer: Location) -> BodyNames:
    return names_of(read_request_body(folder, answer, BODY_MOST))


def nth_answer(answers: Sequence[Recorded], before: int) -> Recorded:
    """The answer for who has had ``before`` of them; the last one for ever after."""
    return answers[min(before, len(answers) - 1)]
