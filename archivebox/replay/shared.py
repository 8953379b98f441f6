"""Owns which files of a snapshot a share link opens, beside what was recorded."""

from collections.abc import Sequence

from archivebox.hooks import outputs_of
from archivebox.lib.files import mimetype_of


def is_article_picture(names: Sequence[str]) -> bool:
    """Whether this is a picture beside an article: a path is the plugin's name, then that of its file."""
    if len(names) < 2 or not mimetype_of(names[-1]).startswith("image/"):
        return False
    return any(output.role == "reader" for output in outputs_of(names[0]))
