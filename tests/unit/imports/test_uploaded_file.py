"""Uploaded files get names that are safe, and by which readers still know them."""

import pytest

from archivebox.imports.sources import file_name


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("crawl.warc.gz", "crawl.warc.gz"), ("../../etc/passwd", "passwd"), ("C:\\Users\\me\\page.mhtml", "page.mhtml"),
        (".hidden.html", "hidden.html"), ("..", "file"), ("", "file"),
        ("Über uns — Seite (1).html", "_ber_uns_Seite_1_.html"), ("a\nb\0c.har", "a_b_c.har"),
        (f"{'x' * 300}.wacz", f"{'x' * 95}.wacz"),
    ],
)  # fmt: skip
def test_a_name_is_safe_and_keeps_its_ending(given: str, name: str) -> None:
    assert file_name(given) == name
