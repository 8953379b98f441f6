"""Unpacked browser extensions that a person has put somewhere: seen to be one, and offered to the crawl's browser.

A plugin that brings one has a hook `on_Crawl__00_extension.py`, which leaves `extension.json` in its folder; the
browser of the crawl starts after all hooks of that name, and loads what they offer.
"""

from __future__ import annotations

import glob
import json
import os

from archivebox.plugins.base.hook import misconfigured, remove, skipped, succeeded, write_atomically

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

FILE = "extension.json"
MANIFEST = "manifest.json"


def offer_extension(plugin: str, title: str) -> NoReturn:
    """Offer the extension in `LIB_DIR/extensions/<plugin>`."""
    remove(FILE)
    folder = os.path.join(os.environ.get("LIB_DIR", ""), "extensions", plugin)
    if not os.path.isdir(folder):
        skipped(f"{title} is not there: unpack it into {folder}, so that {MANIFEST} is in it")
    manifest = read_manifest(folder)
    write_atomically(FILE, json.dumps({"path": folder, "name": manifest["name"], "version": manifest["version"]}))
    succeeded(f"{manifest['name']} {manifest['version']}")


def offered_extensions() -> list[str]:
    """Return the folders that other plugins of this crawl offer."""
    folders = []
    for path in sorted(glob.glob(os.path.join(os.pardir, "*", FILE))):
        with open(path, encoding="utf-8") as file:
            folders.append(json.load(file)["path"])
    return folders


def read_manifest(folder: str) -> dict[str, Any]:
    """Return what an extension says of itself. Ends the hook where it is none that Chromium loads."""
    if "," in folder:
        misconfigured(f"Chromium parts the folders of extensions by commas, so {folder} needs another name.")
    try:
        with open(os.path.join(folder, MANIFEST), encoding="utf-8-sig") as file:
            manifest: dict[str, Any] = json.load(file)
    except (OSError, ValueError) as error:
        misconfigured(f"{folder} holds no unpacked extension: {error}")
    if manifest.get("manifest_version") != 3:
        misconfigured(
            f"{folder} holds an extension of the older kind: Chromium loads those of manifest_version 3 alone."
        )
    return {"name": "", "version": "", **manifest}
