"""Owns handing out what was archived, in formats that others read, whose names are here."""

TITLES = {
    "zip": "All files, with a page that lists them",
    "archivebox": "Everything: rows and files, to be imported into another ArchiveBox",
    "site": "A site that needs no server: pages to read and search, in any browser",
    "wacz": "Recordings with their index, for ReplayWeb.page and other replay programs",
    "warc": "Recordings alone, one behind the other",
    "jsonl": "What is known of pages and results as JSON, one page a line",
    "csv": "A table of pages, with what failed",
    "bookmarks": "Bookmarks with dates and tags, for browsers and bookmark services",
    "html": "One page with a list of links",
}
