#!/usr/bin/env python3
"""Keep the file that the URL is: its bytes as the recorder got them, under the name that it has on the site.

Holds the tab although it asks nothing of it: it is kept open while a large file is still on its way. Meanwhile another
page has its place.
"""

from __future__ import annotations

import os
import time

from naming import file_name

from archivebox.plugins.base import Settings, failed, succeeded, try_again, waiting
from archivebox.plugins.base.responses import Archive, Response

LOOK_AGAIN = 0.05  # seconds between two looks into the index of a file that is still coming
LARGE_AFTER = 0.5  # seconds after which a file that is still coming is waited for beside other pages
MARGIN = 0.9  # of the hook's time


def wait_for_document(archive: Archive, deadline: float) -> Response | None:
    """Return the answer that the navigation ended with, None where it is not whole in time."""
    large_at, is_large = time.monotonic() + LARGE_AFTER, False
    while time.monotonic() < deadline:
        documents = [each for each in archive.latest() if each.is_main and not each.redirected_to]
        if documents:
            return documents[-1]
        if not is_large and time.monotonic() > large_at:
            is_large = True
            waiting()
        time.sleep(LOOK_AGAIN)
    return None


def keep(archive: Archive, document: Response) -> str:
    """Write the body of a document to a file; return its name."""
    name = file_name(document.url, document.mime, document.header("content-disposition"))
    temporary = f".{name}.tmp"
    with open(temporary, "wb") as file:
        archive.copy_body(document, file)
    os.replace(temporary, name)
    return name


def main() -> None:
    deadline = time.monotonic() + Settings().timeout("STATICFILE") * MARGIN
    archive = Archive()
    if not archive.is_there:
        try_again("Nothing is recorded yet: the hooks of responses have to run first.")
    document = wait_for_document(archive, deadline)
    if document is None:
        try_again("The download took too long. Raise STATICFILE_TIMEOUT.")
    if not document.status:
        try_again(f"The page did not load: {document.error}", reason="nothing_came")
    if not document.sha256:
        failed(f"the server sent no file: {document.error or document.status}")
    if not document.size:
        failed("the server sent an empty file", reason="no_page")
    facts = {"mime": document.mime, "size": document.size, "sha256": document.sha256, "truncated": document.truncated}
    succeeded(keep(archive, document), facts)


if __name__ == "__main__":
    main()
