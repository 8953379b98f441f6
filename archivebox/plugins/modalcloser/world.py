"""What is injected into pages, under which names: autoconsent where it is installed, and our own `modals.js`."""

from __future__ import annotations

import os

from archivebox.plugins.base import Settings

NAME = "archivebox-modalcloser"  # of the isolated world
TELL = "archiveboxTell"  # the binding by which it speaks to us
PACKAGE = "@duckduckgo/autoconsent"
OURS = os.path.join(os.path.dirname(os.path.realpath(__file__)), "modals.js")
# It writes to the console, of which `consolelog` would keep each line as the page's.
SILENT = "try {{ (console => {{\n{}\n}})({{ log() {{}}, warn() {{}}, error() {{}} }}); }} catch {{}}\n"


def library() -> str:
    """Return the script of autoconsent, '' where it is not installed."""
    modules = Settings().path("NODE_MODULES_DIR")
    try:
        return read(os.path.join(modules, PACKAGE, "dist", "autoconsent.standalone.js"))
    except FileNotFoundError:
        return ""


def script(consent: str) -> str:
    """Return what runs in each document before its own scripts do."""
    return (SILENT.format(consent) if consent else "") + read(OURS)


def read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()
