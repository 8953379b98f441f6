"""Owns which pages a hook is for: conditions on URL, media type, status and content, judged without a process."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from archivebox.contract.reasons import Reason
from archivebox.lib.jsonl import JSON
from archivebox.lib.patterns import Pattern, compile_patterns

CONDITIONS = ("url", "mime", "status")
CONTAINS, ABSENT = "contains", "absent"
MAX_SEARCHED = 16 << 20
"""Bytes of a file that are searched, which takes RE2 0.05 s; the hook applies to a page with a larger one."""


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

    ``url`` is searched in the URL that was asked for; ``mime`` and ``status`` have to match the whole. ``contains``:
    files in the page's folder and what is searched in each. One has to be found; without the first file any page
    will do. ``absent``: files in that folder; where one of them is, the hook has nothing to do.
    """

    url: re.Pattern[str] | None = None
    mime: re.Pattern[str] | None = None
    status: re.Pattern[str] | None = None
    contains: tuple[tuple[str, tuple[Pattern, ...]], ...] = ()
    absent: tuple[str, ...] = ()

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

    def is_for_content_of(self, folder: Path) -> bool:
        """Whether what is stored of a page in ``folder`` has what the hook is for, or does not tell."""
        if any((folder / name).exists() for name in self.absent):
            return False
        if not self.contains or not (folder / self.contains[0][0]).is_file():
            return True
        return any(_is_found(patterns, folder / name) for name, patterns in self.contains)

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
    problems = [f"it knows no condition {key}" for key in declared if key not in (*CONDITIONS, CONTAINS, ABSENT)]
    patterns = dict(_patterns(declared, problems))
    contains = tuple(_contents(declared.get(CONTAINS), problems))
    return Applies(**patterns, contains=contains, absent=_names(declared.get(ABSENT), problems)), problems


def _patterns(declared: dict[str, JSON], problems: list[str]) -> Iterator[tuple[str, re.Pattern[str]]]:
    for key in CONDITIONS:
        pattern = declared.get(key)
        if pattern is None:
            continue
        try:
            yield key, re.compile(str(pattern), re.IGNORECASE if key == "mime" else 0)
        except re.error as error:
            problems.append(f"{key} is not a regular expression: {error}")


def _contents(declared: JSON, problems: list[str]) -> Iterator[tuple[str, tuple[Pattern, ...]]]:
    if declared is None:
        return
    if not isinstance(declared, dict):
        problems.append(f"{CONTAINS} is not an object of files and regular expressions")
        return
    for name, text in declared.items():
        try:
            yield name, compile_patterns(str(text))
        except ValueError as error:
            problems.append(f"{CONTAINS}: {error}")


def _names(declared: JSON, problems: list[str]) -> tuple[str, ...]:
    if declared is None:
        return ()
    if not isinstance(declared, list):
        problems.append(f"{ABSENT} is not a list of files")
        return ()
    return tuple(map(str, declared))


def _is_found(patterns: tuple[Pattern, ...], path: Path) -> bool:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_SEARCHED + 1)
    except OSError:
        return False
    text = data.decode("utf-8", "replace")
    return len(data) > MAX_SEARCHED or any(pattern.search(text) for pattern in patterns)
