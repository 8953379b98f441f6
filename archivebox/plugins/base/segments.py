"""Which scripts are written without spaces between words, and how text in them is parted for an index."""

from __future__ import annotations

import re
import unicodedata

# Hangul, too: its words end in particles.
UNSPACED = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u0f00-\u0fff"  # Tibetan
    "\u1000-\u109f"  # Burmese
    "\u1780-\u17ff"  # Khmer
    "\u3005-\u3007\u3040-\u30ff\u3100-\u312f\u31f0-\u31ff"  # kana, bopomofo, marks of repetition
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\uac00-\ud7af"  # Hangul syllables
)
"""Characters, as they stand between the brackets of a regular expression."""
_SEAM = re.compile(rf"(?<=[{UNSPACED}])(?=\w)|(?<=\w)(?=[{UNSPACED}])")


def segmented(text: str) -> str:
    """Return `text` with each character of such a script as a word of its own; wide forms become plain (Unicode NFKC).

    A word of a question is a phrase then, and found wherever it stands, however short it is.
    """
    if text.isascii():
        return text
    return _SEAM.sub(" ", unicodedata.normalize("NFKC", text))
