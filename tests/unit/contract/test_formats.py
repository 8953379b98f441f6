"""Formats are what can be looked at, best first; nothing that was not to be had is among them."""

from dataclasses import dataclass, field

import pytest

from archivebox.contract.formats import Format, FormatKind, best_of, formats_of, kind_of
from archivebox.contract.presentation import OutputPattern

OUTPUTS = {
    "copy": (OutputPattern("preview", "*.html", "Copy", 20),),
    "single": (OutputPattern("preview", "single.html", "Single", 10),),
    "raw": (OutputPattern("preview", "*.html", "Raw", 90),),
    "shot": (OutputPattern("picture", "small.webp"), OutputPattern("preview", "*.png", "Picture", 30)),
    "video": (OutputPattern("preview", "*.mp4", "Video", 25), OutputPattern("preview", "*.webm", "Video", 25)),
    "article": (OutputPattern("text", "a.txt", "Article", 10), OutputPattern("reader", "a.html", "Reader", 10)),
    "words": (OutputPattern("text", "*.txt", "Text"),),
    "hashes": (OutputPattern("evidence", "hashes.json", "Hashes"),),
}
TYPES = {"html": "text/html", "png": "image/png", "mp4": "video/mp4", "txt": "text/plain", "json": "application/json"}


@dataclass
class Result:
    plugin: str
    names: tuple[str, ...] = ()
    status: str = "succeeded"
    output_str: str = ""
    output_files: dict[str, dict[str, object]] = field(init=False)

    def __post_init__(self) -> None:
        self.output_files = {
            name: {"size": len(name), "mimetype": TYPES.get(name.rpartition(".")[2], "")} for name in self.names
        }


def outputs_of(plugin: str) -> tuple[OutputPattern, ...]:
    return OUTPUTS.get(plugin, ())


def formats(*results: Result) -> list[Format]:
    return formats_of(results, outputs_of)


def test_the_best_copy_comes_first_and_what_is_for_few_last() -> None:
    found = formats(
        Result("hashes", ("hashes.json",)),
        Result("raw", ("output.html",)),
        Result("words", ("w.txt",)),
        Result("article", ("a.txt", "a.html")),
        Result("shot", ("small.webp", "s.png")),
        Result("copy", ("i.html",)),
        Result("single", ("single.html",)),
    )

    assert [one.label for one in found] == ["Single", "Copy", "Picture", "Reader", "Text", "Hashes", "Raw"]
    assert [one.kind for one in found[2:4]] == [FormatKind.PICTURE, FormatKind.READER]
    assert [one.key for one in found if one.is_aside] == ["raw"]


def test_the_file_that_a_hook_named_is_the_main_one() -> None:
    found = formats(Result("copy", ("a.html", "z/index.html"), output_str="z/index.html"))

    assert [file.name for file in found[0].files] == ["z/index.html", "a.html"]
    assert found[0].file == found[0].files[0]
    assert found[0].size == len("z/index.html") + len("a.html")


@pytest.mark.parametrize("status", ["failed", "backoff", "queued", "started"])
def test_what_was_to_be_had_is_there_without_files(status: str) -> None:
    (missing,) = formats(Result("video", status=status))

    assert (missing.files, missing.status, missing.label) == ((), status, "Video")


@pytest.mark.parametrize("status", ["noresults", "skipped", "succeeded"])
def test_what_was_not_to_be_had_is_not(status: str) -> None:
    assert formats(Result("video", status=status)) == []
    assert formats(Result("stranger", ("notes.bin",), status=status)) == []


def test_a_plugin_that_declares_nothing_shows_its_pages() -> None:
    (found,) = formats(Result("stranger", ("page.html", "notes.bin")))

    assert (found.key, found.kind, found.label) == ("stranger", FormatKind.PAGE, "stranger")
    assert formats(Result("stranger", status="failed")) == []


def test_the_best_text_is_that_of_the_lowest_rank() -> None:
    results = [Result("words", ("w.txt",)), Result("article", ("a.txt", "a.html"))]

    best = best_of(results, outputs_of, "text")
    assert best is not None
    assert (best.plugin, best.files[0].name) == ("article", "a.txt")
    assert best_of([], outputs_of, "text") is None


@pytest.mark.parametrize(
    ("mimetype", "kind"),
    [
        ("text/html", FormatKind.PAGE), ("application/xhtml+xml", FormatKind.PAGE),
        ("image/svg+xml", FormatKind.PICTURE), ("application/pdf", FormatKind.PDF), ("audio/mpeg", FormatKind.MEDIA),
        ("text/csv", FormatKind.TEXT), ("application/rss+xml", FormatKind.TEXT),
        ("application/x-ndjson", FormatKind.TEXT), ("application/jsonl", FormatKind.TEXT),
        ("application/json-seq", FormatKind.TEXT), ("application/zip", FormatKind.OTHER), ("", FormatKind.OTHER),
    ],
)  # fmt: skip
def test_the_type_of_a_file_says_how_it_is_shown(mimetype: str, kind: FormatKind) -> None:
    assert kind_of(mimetype) is kind
