"""The process that reads documents belongs to who started it."""

from archivebox.imports.document import DocumentReader
from archivebox.lib import processes


def test_a_worker_does_not_end_the_reader_of_an_import_as_a_stray() -> None:
    before = processes.orphans()
    with DocumentReader() as documents:
        content = documents.read(b"<title>A page</title><p>Its words", "http://a.example/", "text/html")
        assert processes.orphans() <= before
        assert content.title == "A page"
