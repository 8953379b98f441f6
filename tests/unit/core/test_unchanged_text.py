"""Whether two versions say the same, by what lies in their folders."""

import json
from pathlib import Path

import pytest

from archivebox.core.versions.unchanged_text import says_the_same

MAIN = {"responses/index.jsonl": json.dumps({"main": True, "sha256": "aa"}) + "\n"}


def version(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.mark.parametrize(
    ("former", "latest", "same"),
    [
        ({"article/article.txt": "a b"}, {"article/article.txt": "a\n  b"}, True),
        ({"article/article.txt": "a b"}, {"article/article.txt": "a c"}, False),
        (
            {"article/article.txt": "a", "htmltotext/htmltotext.txt": "a 3 minutes ago"},
            {"article/article.txt": "a", "htmltotext/htmltotext.txt": "a 4 minutes ago"},
            True,
        ),
        (
            {"article/article.txt": "a", "article/pictures/aa.png": ""},
            {"article/article.txt": "a", "article/pictures/bb.png": ""},
            False,
        ),
        (
            {"article/article.txt": "a", "article/pictures/aa.webp": ""},
            {"article/article.txt": "a", "article/pictures/aa.avif": ""},
            True,
        ),
        (
            {"article/article.txt": "a", "htmltotext/htmltotext.txt": "a b"},
            {"htmltotext/htmltotext.txt": "a b"},
            True,
        ),
        (MAIN, MAIN, True),
        (MAIN, {"responses/index.jsonl": json.dumps({"main": True, "sha256": "bb"}) + "\n"}, False),
        (MAIN, {"responses/index.jsonl": json.dumps({"main": False, "sha256": "aa"}) + "\n"}, False),
        ({}, {}, False),
        ({"title/title.txt": "a"}, {"title/title.txt": "a"}, False),
    ],
)
def test_words_are_compared_else_bytes_and_what_cannot_be_has_changed(
    tmp_path: Path, former: dict[str, str], latest: dict[str, str], same: bool
) -> None:
    assert says_the_same(version(tmp_path / "former", former), version(tmp_path / "latest", latest)) is same
