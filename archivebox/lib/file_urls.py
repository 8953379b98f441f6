"""Owns which URLs look as if a file were there, and not a page."""

import re

# Addresses at whose end is a file nearly always; with a colon in the name it is a page of a wiki about one.
FILE_URL = (
    r"(?i)^https?://[^/?#]+/([^?#]*/)?[^/?#:]+\.(pdf|epub|djvu|zip|t?gz|bz2|xz|7z|rar|tar|iso|png|jpe?g|gif|webp|avif|bmp"
    r"|tiff?|mp3|m4a|og[ag]|opus|flac|wav|mp4|m4v|webm|mov|mkv|avi|docx?|xlsx?|pptx?|od[tsp])([?#]|$)"
)


def is_file_url(url: str) -> bool:
    """Say whether a URL looks as if a file were there, and not a page."""
    return re.match(FILE_URL, url) is not None
