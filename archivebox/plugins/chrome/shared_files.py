"""Text files by which hooks written for ArchiveBox itself find the browser and the page, beside our own JSON files."""

from __future__ import annotations

import os

from archivebox.plugins.base.hook import remove, write_atomically

# Gone with the browser or the tab; `url.txt` and `final_url.txt` stay true and stay.
OF_BROWSER = ("cdp_url.txt", "chrome.pid")
OF_TAB = ("page_loaded.txt", "target_id.txt", *OF_BROWSER)


def write_shared_files(**facts: object) -> None:
    """Write `cdp_url=…` to `cdp_url.txt`, and so on; that one leads into the browser, so it is the owner's alone."""
    for name, fact in facts.items():
        write_atomically("chrome.pid" if name == "pid" else f"{name}.txt", str(fact), secret=name == "cdp_url")


def remove_files(names: tuple[str, ...], folder: str = "") -> None:
    """Remove those of the files that are there."""
    for name in names:
        remove(os.path.join(folder, name))
