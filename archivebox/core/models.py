"""Imports the core models, so that Django finds them."""

from archivebox.core.archiveresult import ArchiveResult
from archivebox.core.note import Note
from archivebox.core.page_storage.stored_object import StoredObject
from archivebox.core.snapshot import Snapshot
from archivebox.core.tag import Tag, Tagging
from archivebox.core.unchanged_check import UnchangedCheck

__all__ = ["ArchiveResult", "Note", "Snapshot", "StoredObject", "Tag", "Tagging", "UnchangedCheck"]
