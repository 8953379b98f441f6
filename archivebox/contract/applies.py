"""Owns which pages a hook is for: conditions on URL, media type and status, judged without a process."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from archivebox.contract.reasons import Reason
from archivebox.lib.jsonl import JSON

CONDITIONS = ("url", "mime", "status")


@dataclass(frozen=True, slots=True)
class PageFacts:
    """What a URL turned out to be; empty (0) as long as no navigation has told.

    ``mime_type``: the media type without parameters, lower case (RFC 9110, 8.3). ``http_status``: of the last answer.
    """

    final_url: str = ""
    http_status: int = 0
    mime_type: str = ""

    @property
    def are_known(self) -> bool:
        """Whether a navigation has told them."""
        return bool(self.http_status or self.mime_type)

    @property
    def nothing_came(self) -> bool:
        """Whether a navigation has told where it went, and that nobody answered there."""
        return bool(self.final_url) and not self.are_known


@dataclass(frozen=True, slots=True)
class Applies:
    """The conditions of one hook, all of which have to hold; None: any will do.

    ``url`` is searched in the URL that was asked for; ``mime`` and ``status`` have to match the whole.
    """

    url: re.Pattern[str] | None = None
    mime: re.Pattern[str] | None = None
    status: re.Pattern[str] | None = None

    @property
    def needs_facts(self) -> bool:
        """Whether it can be judged only when a navigation has told what the page is."""
        return self.mime is not None or self.status is not None

    def reason_against(self, url: str, facts: PageFacts) -> str | None:
        """The reason code by which the hook is skipped; None: it applies. Facts that nobody told refuse nothing."""
        if self.needs_facts and facts.nothing_came:
            return Reason.NOTHING_CAME
        refused = self._refused(url, facts)
        return None if refused is None else Reason.NOT_APPLICABLE.of(refused)

    def _refused(self, url: str, facts: PageFacts) -> str | None:
        if self.url is not None and not self.url.search(url):
            return "such URLs"
        if self.mime is not None and facts.mime_type and not self.mime.fullmatch(facts.mime_type):
            return facts.mime_type
        if self.status is not None and facts.http_status and not self.status.fullmatch(str(facts.http_status)):
            return f"status {facts.http_status}"
        return None


ANY_PAGE = Applies()
"""The conditions of a hook that declares none."""


def read_applies(declared: JSON) -> tuple[Applies, list[str]]:
    """An ``applies`` object of config.json, and sentences about what in it is not understood and ignored."""
    if not isinstance(declared, dict):
        return ANY_PAGE, ["it is not an object"]
    problems = [f"it knows no condition {key}" for key in declared if key not in CONDITIONS]
    patterns = dict(_patterns(declared, problems))
    return Applies(**patterns), problems


def _patterns(declared: dict[str, JSON], problems: list[str]) -> Iterator[tuple[str, re.Pattern[str]]]:
    for key in CONDITIONS:
        pattern = declared.get(key)
        if pattern is None:
            continue
        try:
            yield key, re.compile(str(pattern), re.IGNORECASE if key == "mime" else 0)
        except re.error as error:
            problems.append(f"{key} is no regular expression: {error}")
